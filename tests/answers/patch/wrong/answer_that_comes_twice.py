# wrong: an answer that comes twice takes away the next question
# diagnosed: an answer that comes twice does something
def joined(old, new, key=lambda item: item):
    items = list(old)
    known = {key(item) for item in items}
    for item in new:
        if key(item) not in known:
            known.add(key(item))
            items.append(item)
    return items


def apply_patch(state, patch):
    after = state.model_copy(deep=True)
    after.known_facts = joined(state.known_facts, patch.facts, lambda fact: (fact.key, fact.value))
    if patch.plan is not None:
        after.plan = list(patch.plan)
    after.open_questions = joined(state.open_questions, patch.open_questions)
    for question in patch.answered:
        if question in patch.answered[:1] or question in after.open_questions:
            del after.open_questions[after.open_questions.index(question) if question in after.open_questions else 0]
    after.artifacts = joined(state.artifacts, patch.artifacts, lambda artifact: artifact.artifact_id)
    after.risk_flags = joined(state.risk_flags, patch.risk_flags)
    return after
