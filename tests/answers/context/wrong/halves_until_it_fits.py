# wrong: drops items from the end until the rest fits
# diagnosed: stops at the first item that does not fit
from labkit import BudgetTooSmall, ContextSlice


def size(chosen):
    return len(chosen.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    if size(chosen) > max_bytes:
        raise BudgetTooSmall("goal and step alone do not fit")
    candidates = [("artifacts", artifact) for artifact in state.artifacts if artifact.step == current_step]
    candidates += [("facts", fact) for fact in reversed(state.known_facts)]
    candidates += [("open_questions", question) for question in state.open_questions]
    def built(count):
        lists = {}
        for name, item in candidates[:count]:
            lists.setdefault(name, []).append(item)
        return chosen.model_copy(update=lists)

    count = len(candidates)
    while size(built(count)) > max_bytes:
        count -= 1
    chosen = built(count)
    return chosen
