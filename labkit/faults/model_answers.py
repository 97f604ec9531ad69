"""What a model, or whoever stands before it, answers when it fails: pure functions of the request and of the real answer.

At the door a request is turned away, and the model is not asked: `rate_limited(s)` is 429 with Retry-After, `server_error` is 500. Or the model was
asked and says something that nobody can use: arguments that are no JSON, a tool that nobody has, no choice at all, an answer that breaks off. Those are
made from the real completion, so that all else in it stays true; one that asks for no tool becomes one that asks.

Not handled here: an answer that is no completion, and one that comes in pieces (only `cut` can strike it). Those stay as they are, and the gate says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from labkit.agent.conversation import Message
from labkit.agent.script import calls, completion
from labkit.faults.fault import Fault

NOBODY = "no_such_tool"


def shaped(request: httpx.Request, fault: Fault, real: httpx.Response | None, told: str) -> httpx.Response | None:
    """The response that this fault gives in the place of the `real` one; None where it can make nothing of that. `told` names the call."""
    if fault.kind == "rate_limited":
        seconds = str(int(fault.amount or 0))
        return _refused(429, "rate_limit_exceeded", f"too many requests: {told}", {"Retry-After": seconds})
    if fault.kind == "server_error" or real is None:
        return _refused(500, "server_error", f"the server failed: {told}")
    real.read()
    if fault.kind == "cut":
        headers = [(name, value) for name, value in real.headers.items() if name != "content-encoding"]
        return httpx.Response(real.status_code, headers=headers, stream=_Half(real.content, told))
    said, asked = _read(real.content), _read(request.content)
    if not real.is_success or _message(said) is None:
        return None
    return httpx.Response(200, json=_spoiled(fault.kind, said, asked))


def _refused(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> httpx.Response:
    error = {"message": message, "type": kind, "code": kind}
    return httpx.Response(status, json={"error": error}, headers=headers)


class _Half(httpx.SyncByteStream):
    """The first half of a body, and then nobody is there any more."""

    def __init__(self, body: bytes, told: str) -> None:
        self._body, self._told = body, told

    def __iter__(self) -> Iterator[bytes]:
        yield self._body[: len(self._body) // 2]
        raise httpx.RemoteProtocolError(f"the peer closed the connection in the middle of its answer: {self._told}")


def _read(body: bytes) -> dict[str, Any]:
    """The JSON object in a body; an empty one if there is none."""
    try:
        read = json.loads(body)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _message(said: dict[str, Any]) -> Message | None:
    """What this completion says; None if it is none."""
    choices = said.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None


def _spoiled(kind: str, said: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    if kind == "empty":
        return {**said, "choices": []}
    offered = [tool["function"]["name"] for tool in asked.get("tools", ()) if "function" in tool]
    message = said["choices"][0]["message"]
    if "function" not in (message.get("tool_calls") or [{}])[0]:
        wanted = calls((offered[0] if offered else NOBODY, {}))
        said = completion(wanted, asked.get("messages", []), str(said.get("model", "")))
        message = said["choices"][0]["message"]
    first, *others = message["tool_calls"]
    function = _half_of(first["function"]) if kind == "malformed_arguments" else _renamed(first["function"], offered)
    message = {**message, "tool_calls": [{**first, "function": function}, *others]}
    return {**said, "choices": [{**said["choices"][0], "message": message}, *said["choices"][1:]]}


def _half_of(function: Message) -> Message:
    """The same call with half of its arguments: never JSON, since the brace that closes them is missing."""
    text = str(function.get("arguments", "")).strip()
    return {**function, "arguments": text[: max(1, len(text) // 2)] if text.startswith("{") else "{"}


def _renamed(function: Message, offered: list[str]) -> Message:
    """The same call of a tool that nobody offered."""
    name = NOBODY
    while name in offered:
        name += "_"
    return {**function, "name": name}
