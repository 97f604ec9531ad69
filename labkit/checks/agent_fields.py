"""What the chat API refuses in a message beyond its place in the conversation: an empty list of tool calls, and fields that it does not know.

Each fault is one sentence, like those of `labkit.agent.history`. A field that is null counts as absent.

Not handled here: calls and their answers (see `labkit.agent.history`), and fields inside of a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.agent.history import history_faults

FIELDS = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call", "annotations"}
)  # what a message may say, and what a client hands on of what the model said


def faults_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """All that the chat API would not take in a conversation that it is sent."""
    return history_faults(messages) + [fault for one in _each(messages) for fault in (_empty(*one), _unknown(*one)) if fault]


def faults_kept(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same of a conversation in a journal: what else is kept there of a message need not be sent."""
    return history_faults(messages) + [fault for one in _each(messages) if (fault := _empty(*one))]


def _each(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((f"message {number} ({message.get('role')})", message) for number, message in enumerate(messages, start=1))


def _empty(place: str, message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    return f"{place} has an empty list of tool calls" if isinstance(calls, list) and not calls else ""


def _unknown(place: str, message: Mapping[str, Any]) -> str:
    odd = sorted(name for name, value in message.items() if name not in FIELDS and value is not None)
    return f"{place} has an unknown field {odd[0]!r}" if odd else ""
