# wrong: the chapter's filter in Python: all questions, artifacts by their own bytes, facts by the length of their values until one does not fit
# diagnosed: not all that is sent is counted
from labkit import ContextSlice


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step, open_questions=state.open_questions)
    used = 0
    for artifact in state.artifacts:
        if artifact.step == current_step and used + artifact.bytes <= max_bytes:
            chosen.artifacts.append(artifact)
            used += artifact.bytes
    for fact in reversed(state.known_facts):
        needed = len(fact.value)
        if used + needed > max_bytes:
            break
        chosen.facts.append(fact)
        used += needed
    return chosen
