# wrong: collects facts of all calls in a default
# diagnosed: keeps something from one call to the next
from labkit import BudgetTooSmall, ContextSlice


def size(chosen):
    return len(chosen.model_dump_json().encode())


def select_context(state, current_step, max_bytes, _known=[]):  # noqa: B006
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    if size(chosen) > max_bytes:
        raise BudgetTooSmall("goal and step alone do not fit")
    candidates = [("artifacts", artifact) for artifact in state.artifacts if artifact.step == current_step]
    _known.extend(fact for fact in state.known_facts if fact not in _known)
    candidates += [("facts", fact) for fact in reversed(_known if len(_known) > len(state.known_facts) else state.known_facts)]
    candidates += [("open_questions", question) for question in state.open_questions]
    for name, item in candidates:
        longer = chosen.model_copy(update={name: [*getattr(chosen, name), item]})
        if size(longer) <= max_bytes:
            chosen = longer
    return chosen
