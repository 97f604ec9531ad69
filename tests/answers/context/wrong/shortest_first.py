# wrong: takes short facts first
# diagnosed: takes short facts first
from labkit import BudgetTooSmall, ContextSlice


def size(chosen):
    return len(chosen.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    if size(chosen) > max_bytes:
        raise BudgetTooSmall("goal and step alone do not fit")
    candidates = [("artifacts", artifact) for artifact in state.artifacts if artifact.step == current_step]
    newest = state.known_facts[::-1]
    candidates += [("facts", fact) for fact in sorted(newest, key=lambda fact: len(fact.model_dump_json()))]
    candidates += [("open_questions", question) for question in state.open_questions]
    for name, item in candidates:
        longer = chosen.model_copy(update={name: [*getattr(chosen, name), item]})
        if size(longer) <= max_bytes:
            chosen = longer
    return chosen
