# wrong: a known fact without a source is given one
# diagnosed: what was there is replaced by what comes
from labkit import AgentState, StatePatch, Fact, Artifact


def apply_patch(state, patch):
    new = state.model_copy(deep=True)
    known = {(f.key, f.value) for f in new.known_facts}
    for f in patch.facts:
        if (f.key, f.value) not in known:
            known.add((f.key, f.value))
            new.known_facts.append(f)
        else:
            new.known_facts = [o.model_copy(update={'source': o.source or f.source}) if (o.key, o.value) == (f.key, f.value) else o for o in new.known_facts]
    if patch.plan is not None:
        new.plan = list(patch.plan)
    for q in patch.open_questions:
        if q not in new.open_questions:
            new.open_questions.append(q)
    new.open_questions = [q for q in new.open_questions if q not in patch.answered]
    for a in patch.artifacts:
        if a.artifact_id not in [o.artifact_id for o in new.artifacts]:
            new.artifacts.append(a)
    for r in patch.risk_flags:
        if r not in new.risk_flags:
            new.risk_flags.append(r)
    return new
