"""What a model is shown: as much of a state as fits into a number of bytes, the most needed first, nothing cut in the middle.

Goal and current step are always in. Then the artifacts of this step, then facts from the newest to the oldest, then open questions. An item that
does not fit is left out, and smaller ones after it still get their chance. Bytes are those of the slice as it is sent, as JSON in UTF-8: quotes, commas,
escapes and all.

Not handled here: tokens, which are the model's own count of the same text, and the content of artifacts (see `artifacts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from labkit.agent.state import AgentState, ContextSlice
from labkit.errors import BudgetTooSmall

Item = TypeVar("Item", bound="BaseModel | str")


def select_context(state: AgentState, current_step: str, max_bytes: int) -> ContextSlice:
    """The slice of `state` for this step in at most `max_bytes`. `BudgetTooSmall` when goal and step alone do not fit."""
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    room = max_bytes - size(chosen)
    if room < 0:
        raise BudgetTooSmall(f"goal and step alone need {max_bytes - room} bytes, and {max_bytes} are allowed")
    of_this_step = [artifact for artifact in state.artifacts if artifact.step == current_step]
    chosen.artifacts, room = _fitting(of_this_step, room)
    newest_first, room = _fitting(reversed(state.known_facts), room)
    chosen.facts = newest_first[::-1]
    chosen.open_questions, room = _fitting(state.open_questions, room)
    return chosen


def size(value: BaseModel | str | Sequence[str]) -> int:
    """How many bytes a value has as it is sent."""
    return len(to_json(value))


def _fitting(items: Iterable[Item], room: int) -> tuple[list[Item], int]:
    """The items that fit one after the other into a list, and the room that is left."""
    fitting: list[Item] = []
    for item in items:
        needed = size(item) + bool(fitting)  # a comma stands before each but the first
        if needed <= room:
            fitting.append(item)
            room -= needed
    return fitting, room
