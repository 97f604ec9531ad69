"""One request to `endpoint`, with a queue that remembers what it was asked, in an event loop whose time is the world's.

A slow `submit` is slow by order, not by time: it returns when the loop has turned meanwhile. In the loop's own thread it cannot be slow, since nobody could let
it go; that is told, and so is a loop that stands still in the answer's code while the submit waits in another thread.

Not handled here: the requests (see `endpoint_cases`), and judging (see `endpoint_rules`).
"""

from __future__ import annotations

import asyncio
import sys
import threading
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from labkit.checks.asgi import Exchange, Handler, bare, play
from labkit.checks.common import EXITS, TOLD, outcome_of, try_exits
from labkit.checks.endpoint_cases import ACCEPTS, REFUSED, Row
from labkit.checks.virtual_loop import Endless, Stuck, VirtualLoop
from labkit.errors import QueueFull
from labkit.faults.outcome import ANSWER, describe_error, plain
from labkit.faults.process import Process

PATH = "/api/tasks"
WAITS = "waits for something that never comes"
TICKS = 3  # turns of the loop for which a slow submit is held
PATIENCE, TURNS = 2.0, 30  # virtual seconds for which it is held then, and the turns in which somebody may give up on it
TOLD_AS = {"begins": "submit begins", "tick": "the loop turns", "ends": "submit ends", "answered": "the answer comes", "over": "the handler has ended"}
LOOK_EVERY, LOOKS = 0.02, 30  # real seconds, and how often a loop must be seen at a standstill
FROM_THE_BODY = ("TypeError", "AttributeError", "RecursionError")  # what a bad body raises in an answer that takes it for a good one


class Queue:
    """The queue of a request. `asked` is what `submit` was given each time, `others` which other methods of a queue were called."""

    def __init__(self, act: Callable[[], str]) -> None:
        self._act, self.asked, self.others = act, list[list[Any]](), list[str]()

    def submit(
        self, user_input: Any, *, priority: Any = 0, idempotency_key: Any = None, webhook_url: Any = None
    ) -> str:
        self.asked.append([plain(user_input), plain(priority), plain(idempotency_key)])
        return self._act()

    def wait(self, *arguments: Any, **more: Any) -> None:
        self.others.append("wait")

    def claim(self, *arguments: Any, **more: Any) -> None:
        self.others.append("claim")


class Slow:
    """A `submit` that is held until the loop has turned. `events` tells the order."""

    def __init__(self, loop: VirtualLoop, exchange: Exchange) -> None:
        self._loop, self._exchange, self._released = loop, exchange, threading.Event()
        self.began, self.events = asyncio.Event(), list[str]()

    def __call__(self) -> str:
        self.events.append("begins after the answer" if self._exchange.status else "begins")
        if threading.get_ident() == self._loop.thread:
            self.events.append("in the loop")
        else:
            self._held()
        self.events.append("ends")
        return "task-81f3"

    def _held(self) -> None:
        me, seen, still = threading.get_ident(), -1, 0
        with suppress(RuntimeError):  # nobody is there any more
            self._loop.call_soon_threadsafe(self.began.set)
        self._loop.held.add(me)  # subtle: not before the loop has been told, or it takes itself for idle
        while not self._released.wait(LOOK_EVERY):
            frame = sys._current_frames().get(self._loop.thread)
            still = still + 1 if seen == self._loop.turns and _in_answer(frame) else 0
            seen = self._loop.turns
            if still > LOOKS:
                self.events.append("blocked")
                break
        self._loop.held.discard(me)

    def release(self) -> None:
        self._loop.held.clear()
        self._released.set()

    async def watch(self, handler: Handler) -> str:
        """Send the request, and let the loop turn while the submit is held."""
        sending = asyncio.ensure_future(self._exchange.respond(handler))
        begun = asyncio.ensure_future(self.began.wait())
        await asyncio.wait({sending, begun}, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(TICKS):
            await asyncio.sleep(0)
            self.events.append("tick")
        self._loop.clock.sleep(PATIENCE)  # subtle: or time would stand still in a loop that is never idle
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if self._exchange.status:
            self.events.append("answered")
        if sending.done() and "begins" in self.events:
            self.events.append("over")
        self.release()
        how = await sending
        if "answered" not in self.events:
            self.events.append("answered")
        begun.cancel()
        return how

    async def cancelled(self, handler: Handler) -> str:
        """Send the request, and cancel it while the submit is held."""
        sending, begun = asyncio.ensure_future(self._exchange.respond(handler)), asyncio.ensure_future(self.began.wait())
        await asyncio.wait({sending, begun}, return_when=asyncio.FIRST_COMPLETED)
        sending.cancel()
        for _ in range(TICKS):
            await asyncio.sleep(0)
        self.release()
        await self._loop.rest()
        begun.cancel()
        return await sending


def _in_answer(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith(ANSWER):
        frame = frame.f_back
    return frame is not None


def ask(handler: Handler, row: Row, process: Process) -> dict[str, Any]:
    """One request, and what came of it."""

    def submit() -> str:
        if row.full is not None:
            raise QueueFull("the queue is full", retry_after=row.full)
        return row.task_id

    return _asked(handler, row, process, submit)


def fail(handler: Handler, row: Row, process: Process) -> dict[str, Any]:
    """The same with a database that is gone."""

    def submit() -> str:
        raise RuntimeError("the disk is gone")

    return _asked(handler, row, process, submit)


def _asked(handler: Handler, row: Row, process: Process, act: Callable[[], str]) -> dict[str, Any]:
    queue = Queue(act)
    exchange = Exchange("POST", PATH, _headers(row), row.parts, queue=queue)
    process.note("POST", row.says)
    began = process.world.clock.elapsed
    came = _how(lambda: play(VirtualLoop(process.world.clock), exchange.respond(handler)), row, process)
    came |= _told(exchange, queue, process.world.clock.elapsed - began)
    process.note("answers", f"{came['status']} {came['body'][:60]}" if came["status"] else "nothing")
    return came


def slowly(handler: Handler, process: Process) -> dict[str, Any]:
    """A request whose submit takes its time."""
    row, loop = ACCEPTS[0], VirtualLoop(process.world.clock)
    queue = Queue(lambda: slow())
    exchange = Exchange("POST", PATH, _headers(row), row.parts, queue=queue)
    slow = Slow(loop, exchange)
    process.note("POST", "a task, and submit takes its time")
    came = _how(lambda: play(loop, slow.watch(handler)), row, process)
    slow.release()
    for event in slow.events:
        process.note(TOLD_AS.get(event, event))
    return came | _told(exchange, queue, 0.0) | {"events": slow.events}


def leave(handler: Handler, process: Process) -> list[list[Any]]:
    """Requests whose submit raises each kind of exit, such out of whose body it comes, and one that is cancelled while submit is at work."""

    def call(leaving: Callable[..., Any], *, unread: bool = False) -> Any:
        exchange = Exchange("POST", PATH, _headers(ACCEPTS[0]), ACCEPTS[0].parts, queue=Queue(leaving))
        exchange.unread = leaving if unread else None
        try:
            play(VirtualLoop(process.world.clock), exchange.respond(handler))
        except BaseExceptionGroup as group:
            raise bare(group) from None
        return f"status {exchange.status}"

    thrown = try_exits(call, tuple(kind for kind in EXITS if kind is not CancelledError))  # no thread is ever cancelled
    return [remade(*one) for one in (*thrown, *try_exits(partial(call, unread=True)), _cancelled(handler, process))]


def _cancelled(handler: Handler, process: Process) -> list[Any]:
    """A request that is cancelled while its submit is held, in the form of `try_exits`. One that goes on to its 202 has heard of it too late."""
    loop = VirtualLoop(process.world.clock)
    exchange = Exchange("POST", PATH, _headers(ACCEPTS[0]), ACCEPTS[0].parts, queue=Queue(lambda: slow()))
    slow = Slow(loop, exchange)
    ended = outcome_of(lambda: f"status {play(loop, slow.cancelled(handler)) or exchange.status}")
    slow.release()
    in_time = slow.began.is_set() and exchange.status != 202
    return [CancelledError.__name__, in_time, ended]


def remade(kind: str, asked: bool, ended: dict[str, Any]) -> list[Any]:
    """What came of an exit. A cancellation is often made anew by asyncio itself, and what it said is nobody's business."""
    if ended.get("error", {}).get("type") == kind == CancelledError.__name__:
        ended["error"]["message"] = TOLD
    return [kind, asked, ended]


def _headers(row: Row) -> Sequence[tuple[str, str]]:
    return (("Content-Type", "application/json"), ("Content-Length", str(len(row.body))), *row.headers)


def _how(call: Callable[[], str], row: Row, process: Process) -> dict[str, Any]:
    """How the answer ended. An error to which a bad body led is told by its name: it is no slip, but what the row is there to show."""
    try:
        return {"how": call(), "raised": "", "error": None}
    except Stuck:
        return {"how": WAITS, "raised": "", "error": None}
    except Endless:
        process.gate.stop("endless")
    except Exception as error:
        told = describe_error(error)
        expected = row.wants == REFUSED and told["type"] in FROM_THE_BODY
        return {"how": "", "raised": f"{told['type']}: {told['message']}", "error": None if expected else told}


def _told(exchange: Exchange, queue: Queue, seconds: float) -> dict[str, Any]:
    return {
        "status": exchange.status if exchange.whole else 0,
        "retry_after": exchange.headers.get("retry-after"),
        "body": exchange.body[:2_000].decode(errors="replace"),
        "asked": queue.asked,
        "others": queue.others,
        "seconds": seconds,
    }
