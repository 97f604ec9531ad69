# wrong: the order of the facts is that of a set
# diagnosed: facts are not appended at the end, in the order of the patch
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
    news = {(fact.key, fact.value): fact for fact in patch.facts}
    for old in state.known_facts:
        news.pop((old.key, old.value), None)
    after.known_facts = [*state.known_facts, *(news[pair] for pair in sorted(news))]
    if patch.plan is not None:
        after.plan = list(patch.plan)
    asked = joined(state.open_questions, patch.open_questions)
    after.open_questions = [question for question in asked if question not in patch.answered]
    after.artifacts = joined(state.artifacts, patch.artifacts, lambda artifact: artifact.artifact_id)
    after.risk_flags = joined(state.risk_flags, patch.risk_flags)
    return after
