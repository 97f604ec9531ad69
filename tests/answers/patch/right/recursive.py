# right: one item of the patch at a time, by recursion with a small stack, over immutable steps
from labkit import AgentState, StatePatch


def with_item(state: AgentState, field: str, item, same) -> AgentState:
    there = getattr(state, field)
    if any(same(item, old) for old in there):
        return state
    return state.model_copy(update={field: [*there, item]})


def every(state, field, items, same):
    if not items:
        return state
    half = len(items) // 2
    if half == 0:
        return with_item(state, field, items[0], same)
    return every(every(state, field, items[:half], same), field, items[half:], same)


def apply_patch(state: AgentState, patch: StatePatch) -> AgentState:
    new = every(state, "known_facts", patch.facts, lambda a, b: (a.key, a.value) == (b.key, b.value))
    new = every(new, "open_questions", patch.open_questions, str.__eq__)
    new = every(new, "artifacts", patch.artifacts, lambda a, b: a.artifact_id == b.artifact_id)
    new = every(new, "risk_flags", patch.risk_flags, str.__eq__)
    left = [q for q in new.open_questions if q not in patch.answered]
    plan = new.plan if patch.plan is None else patch.plan
    return new.model_copy(update={"open_questions": left, "plan": plan}, deep=True)
