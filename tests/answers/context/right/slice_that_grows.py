# right: a subclass of the slice that measures itself, candidates from a generator
from labkit import AgentState, BudgetTooSmall, ContextSlice


class Growing(ContextSlice):
    def __len__(self) -> int:
        return len(self.model_dump_json().encode())

    def try_one(self, where: list, item: object, most: int) -> None:
        where.append(item)
        if len(self) > most:
            where.pop()


def needed(state: AgentState, chosen: Growing):
    yield from ((chosen.artifacts, a) for a in state.artifacts if a.step == chosen.current_step)
    yield from ((chosen.facts, f) for f in reversed(state.known_facts))
    yield from ((chosen.open_questions, q) for q in state.open_questions)


def select_context(state, current_step, max_bytes):
    chosen = Growing(goal=state.goal, current_step=current_step)
    if len(chosen) > max_bytes:
        raise BudgetTooSmall(str(len(chosen)))
    for where, item in needed(state, chosen):
        chosen.try_one(where, item, max_bytes)
    return chosen
