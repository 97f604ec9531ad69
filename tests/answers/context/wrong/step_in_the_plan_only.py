# wrong: shows nothing for a step that is not in the plan
# diagnosed: asks the plan, which says nothing of the step
from labkit import AgentState, ContextSlice, BudgetTooSmall


def size(s):
    return len(s.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    out = ContextSlice(goal=state.goal, current_step=current_step)
    if size(out) > max_bytes:
        raise BudgetTooSmall("too small")
    if state.plan and current_step not in state.plan:
        return out
    artifacts = [a for a in state.artifacts if a.step == current_step]
    facts = list(reversed(state.known_facts))
    questions = list(state.open_questions)
    for name, items in (("artifacts", artifacts), ("facts", facts), ("open_questions", questions)):
        for item in items:
            getattr(out, name).append(item)
            if size(out) > max_bytes:
                getattr(out, name).pop()
    return out
