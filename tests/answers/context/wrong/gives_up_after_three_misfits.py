# wrong: gives up after three items that do not fit
# diagnosed: stops at the first item that does not fit
from labkit import AgentState, ContextSlice, BudgetTooSmall


def size(s):
    return len(s.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    out = ContextSlice(goal=state.goal, current_step=current_step)
    if size(out) > max_bytes:
        raise BudgetTooSmall("too small")
    artifacts = [a for a in state.artifacts if a.step == current_step]
    facts = list(reversed(state.known_facts))
    questions = list(state.open_questions)
    for name, items in (("artifacts", artifacts), ("facts", facts), ("open_questions", questions)):
        misses = 0
        for item in items:
            if misses >= 3:
                break
            getattr(out, name).append(item)
            if size(out) > max_bytes:
                getattr(out, name).pop()
                misses += 1
    return out
