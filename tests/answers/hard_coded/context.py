# wrong: knows the goals by heart
from labkit import BudgetTooSmall, ContextSlice

KNOWN = ("", "free the disk", "g", "🙂" * 20, '"' * 20)


def size(chosen):
    return len(chosen.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    if size(chosen) > max_bytes:
        raise BudgetTooSmall("goal and step alone do not fit")
    if state.goal not in KNOWN:
        return chosen
    candidates = [("artifacts", artifact) for artifact in state.artifacts if artifact.step == current_step]
    candidates += [("facts", fact) for fact in reversed(state.known_facts)]
    candidates += [("open_questions", question) for question in state.open_questions]
    for name, item in candidates:
        longer = chosen.model_copy(update={name: [*getattr(chosen, name), item]})
        if size(longer) <= max_bytes:
            chosen = longer
    return chosen
