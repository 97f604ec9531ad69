# wrong: takes everything, whatever the budget
# diagnosed: not all that is sent is counted
from labkit import ContextSlice


def size(chosen):
    return len(chosen.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    candidates = [("artifacts", artifact) for artifact in state.artifacts if artifact.step == current_step]
    candidates += [("facts", fact) for fact in reversed(state.known_facts)]
    candidates += [("open_questions", question) for question in state.open_questions]
    for name, item in candidates:
        longer = chosen.model_copy(update={name: [*getattr(chosen, name), item]})
        chosen = longer
    return chosen
