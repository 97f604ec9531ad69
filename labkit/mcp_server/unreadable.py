"""An answer to each line that is no message: over stdio the SDK drops what it cannot read, and whoever sent it would wait for ever.

Broken JSON, half of a surrogate pair and nesting without end are answered as `PARSE_ERROR`, JSON that is no message as `INVALID_REQUEST`: under the id of the
request where one can be read, else under null. Nothing of the line is repeated. An empty line is nothing. What comes after it is served.

Not handled here: HTTP, where the SDK itself answers such a body with 400; and what the SDK takes as a notification, which has no answer: also a request whose
id is neither a text nor a whole number.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^"\[\]{}]+|"', re.DOTALL)


class Answered:
    """The stream `read` without what is no message; that is answered on `write`."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read, self._write = read, write

    @property
    def last_context(self) -> Any:
        """Of the message that was received last; the SDK asks for it."""
        return self._read.last_context

    async def receive(self) -> SessionMessage:
        while isinstance(item := await self._read.receive(), Exception):
            told = refusal(item)
            if told is not None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has gone
                    await self._write.send(SessionMessage(told))
        message: SessionMessage = item
        return message

    async def aclose(self) -> None:
        await self._read.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def refusal(error: Exception) -> types.JSONRPCError | None:
    """What is answered to a line that could not be read with this error; None to an empty one."""
    wrong = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    line = next((one["input"] for one in wrong if one["type"] == "json_invalid"), None)
    if line is not None:
        told = "this line is no JSON, or is nested too deep, or holds half of a character"
        return _error(types.PARSE_ERROR, told, id_in(line)) if line.strip() else None
    whole = next((one["input"] for one in wrong if one["type"] == "missing" and len(one["loc"]) == 2), None)  # the message
    return _error(types.INVALID_REQUEST, "this line is no message of JSON-RPC 2.0", _id_of(whole))


def id_in(line: str) -> int | str | None:
    """The id of a request, read off its outermost level alone, so that nothing below it matters; None where there is none."""
    kept, depth = list[str](), 0
    for piece in _PIECE.findall(line):
        depth -= piece in "]}"
        if depth == 0 or (depth == 1 and piece not in "]}"):
            kept.append(piece if depth == 0 or piece not in "[{" else "null")
        depth += piece in "[{"
    try:
        return _id_of(json.loads("".join(kept)))
    except (ValueError, RecursionError):
        return None


def _id_of(found: Any) -> int | str | None:
    """subtle: the id of a response is one of ours, and no error of a request under it could be told from theirs."""
    if not isinstance(found, dict) or "result" in found or "error" in found:
        return None
    named = found.get("id")
    return named if isinstance(named, int | str) and not isinstance(named, bool) else None


def _error(code: int, told: str, to: int | str | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=to, error=types.ErrorData(code=code, message=told))
