# right: keeps the numbers of the items, and builds lists in the state's order at the end
from labkit import BudgetTooSmall, ContextSlice


def select_context(state, current_step, max_bytes):
    kept = {"artifacts": set(), "known_facts": set(), "open_questions": set()}

    def build():
        lists = [[item for n, item in enumerate(getattr(state, name)) if n in numbers] for name, numbers in kept.items()]
        return ContextSlice(goal=state.goal, current_step=current_step, artifacts=lists[0], facts=lists[1], open_questions=lists[2])

    def fits():
        return len(bytes(build().model_dump_json(), "utf-8")) <= max_bytes

    if not fits():
        raise BudgetTooSmall
    order = [("artifacts", n) for n, artifact in enumerate(state.artifacts) if artifact.step == current_step]
    order += [("known_facts", n) for n in range(len(state.known_facts) - 1, -1, -1)]
    order += [("open_questions", n) for n in range(len(state.open_questions))]
    for name, number in order:
        kept[name].add(number)
        if not fits():
            kept[name].discard(number)
    return build()
