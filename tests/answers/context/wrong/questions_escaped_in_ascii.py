# wrong: a question of emoji counts as its escapes
# diagnosed: as if all but ASCII were escaped
import json

from labkit import BudgetTooSmall, ContextSlice


def size(item):
    if isinstance(item, str):
        return len(json.dumps(item).encode())
    return len(item.model_dump_json().encode())


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    left = max_bytes - size(chosen)
    if left < 0:
        raise BudgetTooSmall("goal and step alone do not fit")
    wanted = [
        (chosen.artifacts, [artifact for artifact in state.artifacts if artifact.step == current_step]),
        (chosen.facts, state.known_facts[::-1]),
        (chosen.open_questions, state.open_questions),
    ]
    for kept, items in wanted:
        for item in items:
            needed = size(item) + (1 if kept else 0)
            if needed <= left:
                kept.append(item)
                left -= needed
    return chosen
