"""The heart of an agent: think, answer every call, think again, until the last word is an answer. Any process can go on with it.

Where a run stands is read off its journal and nowhere else. After a crash the calls of the last message that have no answer yet are answered first, in
their order, so every call has exactly one tool message and the next request is one that the chat API takes. What a model says is cleaned once,
before it is written: its calls get ids of ours, since some endpoints give the same id again or none, and nothing in it is longer than a bound.

Not handled here: what thinking and answering are (see `turn`, `calls`), and when to stop otherwise (see `loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.agent.history import NAME
from labkit.store.contract import storable_text

Message = dict[str, Any]
LONGEST_ARGUMENTS = 65_536  # characters; what is longer is kept up to here, and is no JSON then
LONGEST_TEXT = 200_000  # characters of one message; also as a result of the task it is not too large
MOST_CALLS = 100  # in one message; the model is told that there were more
ODD_NAME = "unreadable_name"


@dataclass(frozen=True)
class ToolCall:
    """A call that a model asks for: its id, the tool's name, and the arguments as the model wrote them."""

    id: str
    name: str
    arguments: str

    def __repr__(self) -> str:
        return f"<ToolCall {self.id} {self.name}>"  # the arguments stay out of logs


class Journal(Protocol):
    """Where a conversation is kept."""

    def messages(self) -> list[Message]: ...
    def append(self, message: Message) -> None: ...


Think = Callable[[list[Message]], Message]  # the conversation -> the assistant's next message
Answer = Callable[[ToolCall], str]  # a call -> what the model is told of it


def converse(journal: Journal, goal: str, think: Think, answer: Answer) -> str:
    """The model's final answer. Whatever `think` and `answer` raise goes through, and the journal is left to go on from."""
    if not journal.messages():
        journal.append({"role": "user", "content": goal})
    while True:
        for call in open_calls(journal.messages()):
            told = answer(call)
            # crash here: the effect is there and the model does not know; `answer` gives the same again
            journal.append({"role": "tool", "tool_call_id": call.id, "content": told})
        messages = journal.messages()
        if messages[-1]["role"] == "assistant":
            return str(messages[-1]["content"] or "")
        journal.append(think(messages))


def turns(messages: Sequence[Message]) -> int:
    """How often the model has spoken, in whatever processes."""
    return sum(message["role"] == "assistant" for message in messages)


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls of the last assistant message that have no tool message yet, in order."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            answered.add(message["tool_call_id"])
        elif message["role"] == "assistant":
            asked = [_call(one) for one in message.get("tool_calls") or ()]
            return [call for call in asked if call.id not in answered]
        else:
            break
    return []


def cleaned(text: str | None, asked: Sequence[tuple[str, str | None]], turn: int) -> Message:
    """An assistant message as it is kept: its text, and its calls as (name, arguments) under ids that this turn gives them."""
    more = f" [{len(asked) - MOST_CALLS} more calls cut]" if len(asked) > MOST_CALLS else ""
    said: Message = {"role": "assistant", "content": _bounded(text or "", LONGEST_TEXT) + more}
    if asked:
        said["tool_calls"] = [
            {
                "id": f"turn{turn}_call{place}",
                "type": "function",
                "function": {
                    "name": name if NAME.fullmatch(name) else ODD_NAME,
                    "arguments": _bounded(arguments or "", LONGEST_ARGUMENTS),
                },
            }
            for place, (name, arguments) in enumerate(asked[:MOST_CALLS], start=1)
        ]
    return said


def _call(one: Message) -> ToolCall:
    return ToolCall(one["id"], one["function"]["name"], one["function"]["arguments"])


def _bounded(text: str, longest: int) -> str:
    """The text, not too long, and without what could neither be stored nor be sent back."""
    kept = storable_text(text[: longest + 1])  # subtle: cut before and after, since an escape is longer than what it stands for
    return kept if len(kept) <= longest else f"{kept[:longest]} [cut]"
