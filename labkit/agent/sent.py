"""What is sent to the model: what is known, then the whole conversation in order, with old results cut down to a line.

The first message is the slice of the state that fits its bytes. Each message of the journal is there, so the request is always one that the chat API takes;
only the text of old tool results is shortened, newest first, once their bytes are more than the budget for artifacts. Results that the model has not seen
yet, those of its last message, are never cut. So the length of a request grows by the arguments and a line a call, and not by a result; arguments go out
as the model wrote them, however long (at most `LONGEST_ARGUMENTS`). A goal or a step that is long is shown in the slice by its beginning, or there would be
no room for facts. Whatever is shown in part says under which artifact it is whole, and is handed back (`wholes`): it must be put there before the request
goes out.

Not handled here: choosing what is known (see `context`), and putting away what was cut (see `known`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from labkit.agent.context import select_context
from labkit.agent.conversation import Message
from labkit.agent.observe import next_step
from labkit.agent.part import Whole, in_part
from labkit.agent.state import AgentState

INSTRUCTIONS = "You are an agent that works with tools. What is known so far, as JSON:\n"
SLICE_BYTES = 4_000


@dataclass(frozen=True)
class Request:
    """The messages of a request, whether results had to be shortened for it, and what of it is shown in part."""

    messages: list[Message] = field(repr=False)
    short: bool
    wholes: list[Whole]


def to_send(messages: Sequence[Message], state: AgentState) -> Request:
    """The next request."""
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    sent, wholes = list[Message](), list[Whole]()
    room, seen = state.budget.max_artifact_bytes_in_context, False
    for message in reversed(messages):
        seen = seen or message["role"] == "assistant"
        if message["role"] == "tool":
            room -= len(message["content"].encode())
            whole = Whole(message["content"], names.get(message["tool_call_id"], "tool"))
            line = f"{whole.summary} [older result, cut: artifact {whole.artifact_id}]"
            if seen and room < 0 and len(line) < len(message["content"]):
                message = {**message, "content": line}
                wholes.append(whole)
        sent.append(message)
    known, long = _known(state)
    return Request([{"role": "system", "content": INSTRUCTIONS + known}, *reversed(sent)], bool(wholes), wholes + long)


def _known(state: AgentState) -> tuple[str, list[Whole]]:
    """The slice as JSON, and what stands in it in part."""
    (goal, whole_goal), (step, whole_step) = in_part(state.goal, "goal"), in_part(next_step(state), "step")
    chosen = select_context(state.model_copy(update={"goal": goal}), step, SLICE_BYTES)
    return chosen.model_dump_json(), whole_goal + (whole_step if state.plan else [])  # without a plan the step is the goal
