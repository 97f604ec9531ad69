# wrong: a slice of goal and step, and nothing else
# diagnosed: leaves out what would have fitted
from labkit import BudgetTooSmall, ContextSlice


def size(chosen):
    return len(chosen.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    if size(chosen) > max_bytes:
        raise BudgetTooSmall("goal and step alone do not fit")
    return chosen
