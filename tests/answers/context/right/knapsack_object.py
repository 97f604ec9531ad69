# right: an object that holds what is left and knows what an item costs; newest facts put back into the state's order
from pydantic import TypeAdapter

from labkit import BudgetTooSmall
from labkit.agent.state import ContextSlice

TEXT = TypeAdapter(str)


class Room:
    def __init__(self, left):
        self.left = left

    def take(self, items):
        """The items that fit, in their order."""
        taken = []
        for item in items:
            cost = len(TEXT.dump_json(item) if isinstance(item, str) else item.model_dump_json().encode("utf-8"))
            cost += len(taken) > 0
            if cost <= self.left:
                self.left -= cost
                taken.append(item)
        return taken


def select_context(state, current_step, max_bytes):
    frame = len(ContextSlice(goal=state.goal, current_step=current_step).model_dump_json().encode("utf-8"))
    if frame > max_bytes:
        raise BudgetTooSmall(f"{frame} bytes for goal and step")
    room = Room(max_bytes - frame)
    artifacts = room.take(a for a in state.artifacts if a.step == current_step)
    facts = room.take(reversed(state.known_facts))
    return ContextSlice(
        goal=state.goal,
        current_step=current_step,
        artifacts=artifacts,
        facts=list(reversed(facts)),
        open_questions=room.take(state.open_questions),
    )
