# wrong: compares artifacts with the old ones only
# diagnosed: an artifact_id that stands twice in the patch is added twice
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
    asked = joined(state.open_questions, patch.open_questions)
    after.open_questions = [question for question in asked if question not in patch.answered]
    there = {artifact.artifact_id for artifact in state.artifacts}
    after.artifacts = [*state.artifacts, *(artifact for artifact in patch.artifacts if artifact.artifact_id not in there)]
    after.risk_flags = joined(state.risk_flags, patch.risk_flags)
    return after
