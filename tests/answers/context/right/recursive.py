# right: recursion over the candidates, an exception says that an item does not fit
import labkit


class TooLong(Exception):
    pass


def measured(chosen, most):
    if len(chosen.model_dump_json().encode()) > most:
        raise TooLong
    return chosen


def go_on(chosen, candidates, most):
    if len(candidates) > 1:
        half = len(candidates) // 2
        return go_on(go_on(chosen, candidates[:half], most), candidates[half:], most)
    for put in candidates:
        try:
            return measured(put(chosen), most)
        except TooLong:
            return chosen
    return chosen


def putter(name, item):
    return lambda chosen: chosen.model_copy(update={name: [*getattr(chosen, name), item]})


def select_context(state, current_step, max_bytes):
    bare = labkit.ContextSlice(goal=state.goal, current_step=current_step)
    try:
        measured(bare, max_bytes)
    except TooLong as error:
        raise labkit.BudgetTooSmall() from error
    candidates = [
        *[putter("artifacts", a) for a in filter(lambda a: a.step == current_step, state.artifacts)],
        *[putter("facts", f) for f in state.known_facts[::-1]],
        *[putter("open_questions", q) for q in state.open_questions],
    ]
    return go_on(bare, candidates, max_bytes)
