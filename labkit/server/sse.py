"""Server-sent events: one update is one event, whole on the wire whatever is in it, and its id is where a reader goes on.

An event is encoded once, however many read it, unless it is large. A comment now and then keeps proxies from cutting a silent connection, and has no
id. The stream ends after the terminal event; a reader that comes later with that id gets an end at once. When a reader goes, at any point, or takes
nothing for too long, its subscription is given back.

Not handled here: what the updates are (see `progress.live`), and who may read (see `guard`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from labkit.errors import StoreBusy, UnstorableValue
from labkit.progress.live import LiveLog
from labkit.progress.update import ProgressUpdate
from labkit.server.tasks import away, problem

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",  # nginx would collect events until a buffer is full
}
COMMENT = b": still here\n\n"
SEND_SECONDS = 30.0  # that a reader may leave its buffer full
LARGEST_ID = 2**63 - 1
LONGEST_KEPT = 1_000  # characters of an event that is kept once it is encoded


def encode(seq: int, update: ProgressUpdate) -> bytes:
    """One update as an event. JSON has no line ends of its own, so one `data:` line holds it."""
    large = len(update.message) + len(update.tool) + len(update.task_id) > LONGEST_KEPT
    return (_encoded.__wrapped__ if large else _encoded)(seq, update)


@lru_cache(maxsize=4_096)
def _encoded(seq: int, update: ProgressUpdate) -> bytes:
    return b"id: %d\nevent: progress\ndata: %b\n\n" % (seq, update.model_dump_json().encode())


def last_event_id(text: str | None) -> int:
    """The position behind which a reader goes on; 0 for none, and for what is none of our ids."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 19:
        return 0
    return min(int(text), LARGEST_ID)


async def progress(request: Request) -> Response:
    """GET /api/progress?task_id=...: the updates of a task as events. 400 without an id, 404 for an unknown one."""
    log: LiveLog = request.app.state.progress
    task_id = request.query_params.get("task_id", "")
    if not task_id:
        return problem("name the task: /api/progress?task_id=...")
    try:
        there = await asyncio.to_thread(log.exists, task_id)
    except UnstorableValue:
        there = False
    except StoreBusy as error:
        return away(error)
    if not there:
        return problem("there is no such task", 404)
    return EventStream(events(log, task_id, last_event_id(request.headers.get("last-event-id"))))


async def events(log: LiveLog, task_id: str, after: int) -> AsyncGenerator[bytes]:
    """What goes over the wire: events, and comments while nothing happens."""
    yield COMMENT  # subtle: so that headers and a first byte leave at once, and a browser says "open"
    async with aclosing(log.listen(task_id, after)) as heard:
        async for entry in heard:
            yield COMMENT if entry is None else encode(*entry)


class EventStream(Response):
    """A response that sends `parts` until they end, the reader goes, or it takes nothing for `SEND_SECONDS`. `parts` is closed in any case."""

    def __init__(self, parts: AsyncGenerator[bytes]) -> None:
        self._parts = parts
        self.status_code, self.background = 200, None
        self.init_headers(HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (sending, leaving):
                one.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._parts.aclose()
        if not sending.cancelled() and (error := sending.exception()) is not None and not isinstance(error, (TimeoutError, OSError)):
            raise error

    async def _send(self, send: Send) -> None:
        await _in_time(send, {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for part in self._parts:
            await _in_time(send, {"type": "http.response.body", "body": part, "more_body": True})
        await _in_time(send, {"type": "http.response.body", "body": b"", "more_body": False})  # subtle: waits for the reader like any other


async def _in_time(send: Send, message: Message) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send(message)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass
class Event:
    """One event as a reader has it."""

    id: str = ""
    event: str = "message"
    data: str = ""


@dataclass
class Decoder:
    """The reader's half: bytes in, in any pieces, events out. `last_id` is what a reader that comes again sends."""

    last_id: str = ""
    _rest: str = ""
    _lines: list[str] = field(default_factory=list)
    _bytes: bytes = b""

    def feed(self, part: bytes) -> Iterator[Event]:
        """The events that are whole now."""
        self._bytes += part
        half = self._bytes.endswith(b"\r")  # subtle: the other half of this line end may still come
        lines = self._bytes.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = lines.split(b"\n")
        self._bytes = rest + b"\r" * half
        for line in whole:
            yield from self._line(line.decode(errors="replace"))

    def end(self) -> Iterator[Event]:
        """What was left when the stream ended: an event whose blank line was lost is an event all the same."""
        rest, self._bytes = self._bytes.removesuffix(b"\r"), b""
        if rest:
            yield from self._line(rest.decode(errors="replace"))
        yield from self._line("")

    def _line(self, line: str) -> Iterator[Event]:
        if line:
            self._lines.append(line)
            return
        lines, self._lines = self._lines, []
        made = Event()
        data = list(_fields(lines, "data"))
        for self.last_id in _fields(lines, "id"):
            pass
        for made.event in _fields(lines, "event"):
            pass
        if data:
            made.id, made.data = self.last_id, "\n".join(data)
            yield made


def _fields(lines: Iterable[str], name: str) -> Iterator[str]:
    for line in lines:
        found, _, value = line.partition(":")
        if found == name:
            yield value.removeprefix(" ")
