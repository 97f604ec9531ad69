# wrong: a value that comes back counts as new
# diagnosed: compares with the newest value of a key only
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
    for fact in patch.facts:
        newest = next((old for old in reversed(after.known_facts) if old.key == fact.key), None)
        if newest is None or newest.value != fact.value:
            after.known_facts.append(fact)
    if patch.plan is not None:
        after.plan = list(patch.plan)
    asked = joined(state.open_questions, patch.open_questions)
    after.open_questions = [question for question in asked if question not in patch.answered]
    after.artifacts = joined(state.artifacts, patch.artifacts, lambda artifact: artifact.artifact_id)
    after.risk_flags = joined(state.risk_flags, patch.risk_flags)
    return after
