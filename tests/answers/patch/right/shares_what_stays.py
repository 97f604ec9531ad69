# right: model_copy with an update; what no patch speaks of is the old state's own
def apply_patch(state, patch):
    pairs = {(f.key, f.value) for f in state.known_facts}
    ids = {a.artifact_id for a in state.artifacts}

    def fresh(items, seen, key):
        # set.add returns None, so this both asks and remembers
        return [item for item in items if key(item) not in seen and not seen.add(key(item))]

    questions = [*state.open_questions, *fresh(patch.open_questions, set(state.open_questions), str)]
    return state.model_copy(
        update={
            "known_facts": [*state.known_facts, *fresh(patch.facts, pairs, lambda f: (f.key, f.value))],
            "plan": state.plan if patch.plan is None else patch.plan,
            "open_questions": [q for q in questions if q not in set(patch.answered)],
            "artifacts": [*state.artifacts, *fresh(patch.artifacts, ids, lambda a: a.artifact_id)],
            "risk_flags": [*state.risk_flags, *fresh(patch.risk_flags, set(state.risk_flags), str)],
        }
    )
