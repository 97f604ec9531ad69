# wrong: remembers in a global which facts it has seen
# diagnosed: keeps something from one call to the next
SEEN = set()


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
    for fact in [*state.known_facts, *patch.facts]:
        pair = fact.key, fact.value, id(state)
        if pair not in SEEN and (fact.key, fact.value) not in [(f.key, f.value) for f in after.known_facts]:
            after.known_facts.append(fact)
        SEEN.add((fact.key, fact.value, id(state)))
    if patch.plan is not None:
        after.plan = list(patch.plan)
    asked = joined(state.open_questions, patch.open_questions)
    after.open_questions = [question for question in asked if question not in patch.answered]
    after.artifacts = joined(state.artifacts, patch.artifacts, lambda artifact: artifact.artifact_id)
    after.risk_flags = joined(state.risk_flags, patch.risk_flags)
    return after
