"""What is sent to the model: what is known, then the whole conversation in order, with old results cut down to a line.

The first message is the slice of the state that fits its bytes. Each message of the journal is there, so the request is always one that the chat API takes;
only the text of old tool results is shortened, newest first, once their bytes are more than the budget for artifacts. So the length of a request
grows by a line a call and not by a result. What was shortened stands in the facts, and whole in the artifact store.

Not handled here: choosing what is known (see `context`).
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.agent.calls import first_line
from labkit.agent.context import select_context
from labkit.agent.conversation import Message
from labkit.agent.observe import next_step
from labkit.agent.state import AgentState
from labkit.errors import BudgetTooSmall

INSTRUCTIONS = "You are an agent that works with tools. What is known so far, as JSON:\n"
SLICE_BYTES = 4_000
SHORT = " [older result, cut]"


def to_send(messages: Sequence[Message], state: AgentState) -> tuple[list[Message], bool]:
    """The messages of the next request, and whether something had to be shortened."""
    sent: list[Message] = []
    room, short = state.budget.max_artifact_bytes_in_context, False
    for message in reversed(messages):
        if message["role"] == "tool":
            room -= len(message["content"].encode())
            line = first_line(message["content"]) + SHORT
            if room < 0 and len(line) < len(message["content"]):
                message, short = {**message, "content": line}, True
        sent.append(message)
    return [{"role": "system", "content": INSTRUCTIONS + _known(state)}, *reversed(sent)], short


def _known(state: AgentState) -> str:
    try:
        return select_context(state, next_step(state), SLICE_BYTES).model_dump_json()
    except BudgetTooSmall:  # a goal of four thousand bytes stands in the conversation anyway
        return "{}"
