# wrong: a question that is there twice is shown once
# diagnosed: leaves out what is there twice
from labkit import AgentState, ContextSlice, BudgetTooSmall


def size(s):
    return len(s.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    out = ContextSlice(goal=state.goal, current_step=current_step)
    if size(out) > max_bytes:
        raise BudgetTooSmall("too small")
    artifacts = [a for a in state.artifacts if a.step == current_step]
    facts = list(reversed(state.known_facts))
    questions = list(dict.fromkeys(state.open_questions))
    for name, items in (("artifacts", artifacts), ("facts", facts), ("open_questions", questions)):
        for item in items:
            getattr(out, name).append(item)
            if size(out) > max_bytes:
                getattr(out, name).pop()
    return out
