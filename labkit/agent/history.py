"""Whether a conversation is one that the chat API takes: each tool call has exactly one answer, before anybody says anything else.

An endpoint refuses a history as a whole. So one call without its tool message, left behind by a process that died, makes every later request
fail, whatever is asked in it. Each fault is one sentence that names the message and the call; a history without faults gives an empty list.
A field that is null counts as absent.

Not handled here: mending a history (see `conversation`), what a provider asks for beyond this, and pictures and sound in a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)  # what the chat API takes as the name of a tool
ROLES = ("system", "developer", "user", "assistant", "tool")


def history_faults(messages: Sequence[Mapping[str, Any]], *, running: bool = False) -> list[str]:
    """What is wrong with these messages, in their order. While a run is `running`, the calls of its last message may still be open."""
    faults = [] if messages else ["there is no message"]
    known: list[str] = []  # the calls of the last assistant message
    waiting: list[str] = []  # those of them that have no answer yet
    for number, message in enumerate(messages, start=1):
        place, role = f"message {number}", message.get("role")
        if role not in ROLES:
            faults.append(f"{place} has the role {role!r}")
            continue
        faults += _content(place, message)
        if role == "tool":
            faults += _answer(place, message.get("tool_call_id"), known, waiting)
            continue
        faults += [f"{place} ({role}) comes before an answer to call {call!r}" for call in waiting]
        known, wrong = _calls(place, message) if role == "assistant" else ([], [])
        faults += wrong
        waiting = list(known)
    return faults if running else faults + [f"call {call!r} has no answer" for call in waiting]


def _answer(place: str, call: Any, known: Sequence[str], waiting: list[str]) -> list[str]:
    """What is wrong with a tool message for this call, which then waits no longer."""
    if call in waiting:
        waiting.remove(call)
        return []
    if call in known:
        return [f"{place} answers call {call!r} a second time"]
    return [f"{place} answers {call!r}, which the last assistant message did not ask for"]


def _calls(place: str, message: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the calls of an assistant message, and what is wrong with them."""
    calls, ids, faults = message.get("tool_calls") or (), list[str](), list[str]()
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        return [], [f"{place} has tool_calls that are no list"]
    if message.get("tool_calls") is not None and not calls:
        return [], [f"{place} (assistant) has an empty list of tool calls"]
    for call in calls:
        wrong = _call(call)
        if wrong:
            faults.append(f"{place} has a tool call {wrong}")
        elif call["id"] in ids:
            faults.append(f"{place} has two calls with the id {call['id']!r}")
        else:
            ids.append(call["id"])
    return ids, faults


def _call(call: Any) -> str:
    """What is wrong with a tool call; "" when nothing is."""
    if not isinstance(call, Mapping) or not isinstance(call.get("id"), str) or not call["id"]:
        return "without an id"
    function = call.get("function")
    if call.get("type") != "function" or not isinstance(function, Mapping):
        return f"{call['id']!r} that is no function"
    if not isinstance(function.get("name"), str) or not function["name"]:
        return f"{call['id']!r} without a name"
    if not NAME.fullmatch(function["name"]):
        return f"{call['id']!r} whose name is not 1 to 64 letters, digits, _ or -"
    return "" if isinstance(function.get("arguments"), str) else f"{call['id']!r} whose arguments are no text"


def _content(place: str, message: Mapping[str, Any]) -> list[str]:
    """An assistant that calls tools may say nothing; everybody else says a text, or a list of parts that are texts."""
    content = message.get("content")
    if content is None and message["role"] == "assistant" and message.get("tool_calls"):
        return []
    parts: Iterable[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content or [None]
    fine = isinstance(parts, list) and all(
        isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str) for part in parts
    )
    return [] if fine else [f"{place} ({message['role']}) has a content that is no text"]
