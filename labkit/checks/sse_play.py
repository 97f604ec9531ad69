"""A story of `sse`, played: a log that counts its subscribers, a client that reads, waits or leaves, and what was seen after each step.

Garbage is collected at set moments and at no others, so that each run is the same. The server keeps nothing of a response that is over.

Not handled here: the stories (see `sse_stories`), and judging (see `sse_rules`).
"""

from __future__ import annotations

import asyncio
import gc
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from labkit.checks.asgi import Exchange, Handler, bare, play
from labkit.checks.common import Killed, try_exits
from labkit.checks.endpoint_play import remade
from labkit.checks.sse_stories import KNOWN, PATH, Entry, Story
from labkit.checks.virtual_loop import Endless, VirtualLoop
from labkit.faults.outcome import describe_error, forget_frames, plain
from labkit.faults.process import Process
from labkit.plural import counted

SOON = 20.0  # virtual seconds within which a stream must have noticed that its client is gone
MANY = 20  # subscriptions of one story
LET_THROUGH = (KeyboardInterrupt, SystemExit, Killed)  # what a stream of any kind lets through from its inside


class Log:
    """The progress log of a story. `open` counts the subscribers, `subscribed` tells what they asked for."""

    def __init__(self, story: Story) -> None:
        self._story, self._entries = story, list(story.entries[: story.there])
        self._changed = asyncio.Event()
        self.open, self.subscribed = 0, list[list[Any]]()

    def exists(self, task_id: str) -> bool:
        return task_id == self._story.task_id

    async def subscribe(self, task_id: str, after: int = 0) -> AsyncGenerator[Entry]:
        self.subscribed.append([plain(task_id), plain(after)])
        self.open += 1
        try:
            if len(self.subscribed) > MANY:
                await asyncio.sleep(0)  # subtle: or who subscribes again and again would never give the loop back
            if task_id != self._story.task_id:  # nobody ever tells anything of another task
                await asyncio.Event().wait()
            while True:
                changed = self._changed
                for entry in [entry for entry in self._entries if entry[0] > after]:
                    after = entry[0]
                    yield entry
                if self._entries and self._entries[-1][1].terminal and self._entries[-1][0] <= after:
                    return
                if self._story.fails:
                    raise RuntimeError("the disk is gone")
                await changed.wait()
        finally:
            self.open -= 1

    def add(self, number: int) -> None:
        have = len(self._entries)
        self._entries += self._story.entries[have : have + number]
        self._changed.set()
        self._changed = asyncio.Event()


class Listener:
    """One client of a story, and what it has seen."""

    def __init__(self, story: Story, log: Log, handler: Handler) -> None:
        headers = [] if story.last is None else [("Last-Event-ID", story.last)]
        target = f"{PATH}?{story.query}" if story.query else PATH
        self.exchange = Exchange("GET", target, [("Accept", "text/event-stream"), *headers], progress=log)
        self.came: dict[str, Any] = {"how": "", "raised": "", "error": None, "cancelled": False, "ended": False}
        self.sending = asyncio.ensure_future(self._send(handler))

    async def _send(self, handler: Handler) -> None:
        try:
            self.came["how"] = await self.exchange.respond(handler)
        except CancelledError:
            self.came["cancelled"] = True
        except BaseException as error:
            told = describe_error(error)
            # subtle: an exit of the answer's own would be kept in the task, where nobody asks for it; any other is on its way
            if not isinstance(error, Exception) and not told.get("own"):
                raise
            self.came["error"] = told
            self.came["raised"] = f"{type(error).__name__}: {error}"[:300]
            forget_frames(error)
        self.came["ended"] = True

    def told(self) -> dict[str, Any]:
        headers = self.exchange.headers
        kept = {name: headers.get(name) for name in ("content-type", "cache-control")}
        text = self.exchange.body.decode("latin-1")  # a character for each byte
        return {**self.came, **kept, "status": self.exchange.status, "whole": self.exchange.whole, "sent": text}


class Teller:
    """Plays one story, or the same steps to several clients of one log."""

    def __init__(self, stories: Sequence[Story], handler: Handler, loop: VirtualLoop) -> None:
        self.stories, self._handler, self._loop = stories, handler, loop
        self.log, self.at = Log(stories[0]), "begin"
        self.listeners = list[Listener]()
        self.steps = list[list[Any]]()  # [step, bytes that each client has, seconds that it took]

    async def tell(self) -> None:
        self.listeners = [Listener(story, self.log, self._handler) for story in self.stories]
        for step in self.stories[0].steps:
            self.at, began = step[0], self._loop.time()
            await self._take(step)
            self.steps.append([self.at, [len(one.exchange.body) for one in self.listeners], self._loop.time() - began])
        await self._loop.rest()
        for patience in (0.0, SOON if self.at in ("leave", "cancel") else 0.0):
            if not self._all_over():
                await asyncio.sleep(patience)
                gc.collect()  # an error that holds its own frame holds a generator, too
                await self._loop.rest()

    async def _take(self, step: Sequence[Any]) -> None:
        for one in self.listeners:
            exchange = one.exchange
            if step[0] == "cancel":
                one.sending.cancel()
            elif step[0] in ("pause", "leave"):
                {"pause": exchange.pause, "leave": exchange.leave}[step[0]]()
        if step[0] == "add":
            self.log.add(step[1])
        elif step[0] == "wait":
            await asyncio.sleep(step[1])
            await self._loop.rest()
        elif step[0] == "rest":
            await self._loop.rest()

    def _all_over(self) -> bool:
        return not self.log.open and all(one.came["ended"] for one in self.listeners)


@contextmanager
def _own_garbage() -> Iterator[None]:
    """While this lasts garbage is collected when it is asked for, and only such as was made meanwhile."""
    was = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was:
            gc.enable()


def tell(handler: Handler, stories: Sequence[Story], process: Process) -> list[dict[str, Any]]:
    """What each client of these stories, told at once, has seen."""
    loop = VirtualLoop(process.world.clock)
    teller = Teller(stories, handler, loop)
    process.note("GET", stories[0].says)
    came = list[dict[str, Any]]()

    async def main() -> None:
        await teller.tell()
        came.extend(one.told() | {"open": teller.log.open} for one in teller.listeners)

    spun = ""
    with _own_garbage():
        try:
            play(loop, main())
        except Endless:
            spun = teller.at
            came = [one.told() | {"open": teller.log.open} for one in teller.listeners]
    shared = {"spun": spun, "steps": teller.steps, "subscribed": teller.log.subscribed}
    for number, one in enumerate(came):
        one |= shared | {"number": number}
        process.note("hears", _in_short(one))
    return came


def _in_short(one: dict[str, Any]) -> str:
    ended = "and the stream ends" if one["whole"] else "and the stream is open" if not one["ended"] else "and is gone"
    lines = counted(one["sent"].count("data:"), "line")
    return f"{one['status'] or 'nothing'}, {lines} of data, {ended}, {one['open']} subscribed"


def leave(handler: Handler, process: Process) -> list[list[Any]]:
    """Streams whose log raises each kind of exit when it is asked whether the task exists, and some of them in the middle of a stream."""
    return [
        *(remade(*one) for one in try_exits(partial(_leaving, handler, process, amid=False))),
        *try_exits(partial(_leaving, handler, process, amid=True), LET_THROUGH),
    ]


class _Leaving(Log):
    def __init__(self, story: Story, leaving: Callable[..., NoReturn], *, amid: bool) -> None:
        super().__init__(story)
        self._leaving, self._amid = leaving, amid

    def exists(self, task_id: str) -> bool:
        return super().exists(task_id) if self._amid else self._leaving()

    async def subscribe(self, task_id: str, after: int = 0) -> AsyncGenerator[Entry]:
        for entry in self._story.entries[:1]:
            if entry[0] > after:
                yield entry
        self._leaving()


def _leaving(handler: Handler, process: Process, leaving: Callable[..., NoReturn], *, amid: bool) -> str:
    exchange = Exchange("GET", f"{PATH}?{KNOWN[0].query}", progress=_Leaving(KNOWN[0], leaving, amid=amid))
    try:
        play(VirtualLoop(process.world.clock), exchange.respond(handler))
    except BaseExceptionGroup as group:
        raise bare(group) from None
    return f"status {exchange.status}"
