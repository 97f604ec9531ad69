# wrong: facts with a source come first
# diagnosed: takes facts that name a source first
from labkit import AgentState, ContextSlice, BudgetTooSmall


def size(s):
    return len(s.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    out = ContextSlice(goal=state.goal, current_step=current_step)
    if size(out) > max_bytes:
        raise BudgetTooSmall("too small")
    artifacts = [a for a in state.artifacts if a.step == current_step]
    facts = sorted(reversed(state.known_facts), key=lambda f: not f.source)
    questions = list(state.open_questions)
    for name, items in (("artifacts", artifacts), ("facts", facts), ("open_questions", questions)):
        for item in items:
            getattr(out, name).append(item)
            if size(out) > max_bytes:
                getattr(out, name).pop()
    return out
