# wrong: forgets the oldest fact when there are more than two
# diagnosed: a fact that is known is lost
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
    after.known_facts = after.known_facts[-4:]
    if patch.plan is not None:
        after.plan = list(patch.plan)
    asked = joined(state.open_questions, patch.open_questions)
    after.open_questions = [question for question in asked if question not in patch.answered]
    after.artifacts = joined(state.artifacts, patch.artifacts, lambda artifact: artifact.artifact_id)
    after.risk_flags = joined(state.risk_flags, patch.risk_flags)
    return after
