# wrong: an answer removes the first of two questions that are alike
# diagnosed: an answer closes one of two
from labkit import AgentState, StatePatch, Fact, Artifact


def apply_patch(state, patch):
    new = state.model_copy(deep=True)
    known = {(f.key, f.value) for f in new.known_facts}
    for f in patch.facts:
        if (f.key, f.value) not in known:
            known.add((f.key, f.value))
            new.known_facts.append(f)
    if patch.plan is not None:
        new.plan = list(patch.plan)
    for q in patch.open_questions:
        if q not in new.open_questions:
            new.open_questions.append(q)
    for q in patch.answered:
        if q in new.open_questions:
            new.open_questions.remove(q)
    for a in patch.artifacts:
        if a.artifact_id not in [o.artifact_id for o in new.artifacts]:
            new.artifacts.append(a)
    for r in patch.risk_flags:
        if r not in new.risk_flags:
            new.risk_flags.append(r)
    return new
