"""An event loop whose time is the world's: a sleep of a minute takes no time, and every run sees the same instants.

When nothing is ready the loop first lets threads finish what they do for the answer, then whoever waits for `rest` goes on, and only then time jumps
to the next timer. A loop that has nothing to wait for is `Stuck`; one that turns and turns at one instant is `Endless`. Both are told by turns, and not by
how long they take: only for threads is there real time to be had, and more than they need.

Not handled here: an answer that never gives the loop back (whoever listens to the child ends it).
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from labkit.clock import VirtualClock
from labkit.faults.threaded import ACTOR

T = TypeVar("T")
Place = tuple[int, int]  # a frame, and where in it

MOST_TURNS, MOST_IN_ALL = 2_000, 60_000  # turns of the loop at one instant, and in one run
MOST_SECONDS = 30_000  # of one run
TELLS = 4  # times that tasks which are left are told to end
MANY_TURNS = 100  # from here on a thread that is at work is given real time
A_MOMENT, MOMENTS = 0.02, 25  # real seconds that a thread gets at a time, and how often while nothing comes of it
LONG = 2.0  # real seconds for which threads may be silent before all is called stuck
BYSTANDERS = WeakSet(threading.enumerate())  # subtle: not their numbers, which are given anew
_waiting: WeakKeyDictionary[threading.Thread, Place] = WeakKeyDictionary()  # those that were seen to wait, and where
WAITING = ("threading.py", "queue.py")  # code in which a thread waits


class Stuck(BaseException):
    """All tasks wait, and nothing is left that could wake one."""


class Endless(BaseException):
    """The loop turns again and again, and no time passes."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """`turns` counts the loop's turns: whoever sees it stand still sees a loop that is blocked."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock, self.turns, self._here, self._began = clock, 0, 0, clock.elapsed
        self._resting: list[asyncio.Future[None]] = []
        self.thread, self.held = threading.get_ident(), set[int]()  # threads that the check holds back
        super().__init__(_Selector(self))
        self.set_exception_handler(lambda loop, context: None)  # what an answer leaves behind is no news

    def time(self) -> float:
        return self.clock.elapsed

    def play(self, main: Coroutine[Any, Any, T]) -> T:
        """Run to the end of `main`, then end what it left. Raises what it raises, `Stuck` or `Endless`."""
        try:
            return self.run_until_complete(main)
        finally:
            self._tidy()

    async def rest(self) -> None:
        """Return when everybody else waits for something."""
        self._here = 0
        resting = self.create_future()
        self._resting.append(resting)
        await resting

    def wait(self, poll: Any, seconds: float | None) -> Any:
        """In place of the selector's wait: `poll(real seconds)` looks what came from threads."""
        self.turns, self._here = self.turns + 1, self._here + 1
        if self._here > MOST_TURNS or self.turns > MOST_IN_ALL or self.time() - self._began > MOST_SECONDS:
            raise Endless
        found = poll(A_MOMENT / 10 if self._here > MANY_TURNS and self._at_work() else 0)
        if found or seconds == 0:
            return found
        before = self._at_work()
        for _ in range(MOMENTS):
            if not self._at_work():
                break
            if found := poll(A_MOMENT):
                return found
        else:
            _waiting.update({thread: place for thread, place in self._at_work().items() if before.get(thread) == place})
        # subtle: a thread may have ended since we looked for what it says; and nobody is stuck as long as we may be mistaken
        if found := poll(LONG if seconds is None and not self._waits_for_rest() and self._ours() else 0):
            return found
        self._go_on(seconds)
        return []

    def _go_on(self, seconds: float | None) -> None:
        self._here = 0
        if self._waits_for_rest():
            resting, self._resting = self._resting, []
            for one in resting:
                if not one.done():
                    one.set_result(None)
        elif seconds is None:
            raise Stuck
        else:
            self.clock.sleep(seconds)

    def _waits_for_rest(self) -> bool:
        return any(not one.done() for one in self._resting)

    def _ours(self) -> list[threading.Thread]:
        """The threads that were started for answers, but for those that the check holds back."""
        apart = self.held | {self.thread}
        return [one for one in threading.enumerate() if not (one in BYSTANDERS or one.ident in apart or one.name == ACTOR)]

    def _at_work(self) -> dict[threading.Thread, Place]:
        """Those that do something, and where."""
        ours = self._ours()
        frames = sys._current_frames() if ours else {}
        found = {one: frames[one.ident] for one in ours if one.ident in frames}
        places = {one: (id(frame), frame.f_lasti) for one, frame in found.items() if _works(frame)}
        return {one: place for one, place in places.items() if _waiting.get(one) != place}

    def _tidy(self) -> None:
        """Cancel what is left and let it end; what will not is left to itself."""
        for _ in range(TELLS):
            left = asyncio.all_tasks(self)
            for task in left:
                task.cancel()
            if not self._ended(asyncio.wait(left, timeout=60) if left else self.shutdown_asyncgens()):
                break
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

    def _ended(self, last: Coroutine[Any, Any, Any]) -> bool:
        """Run this; False where it goes round and round, so that telling again is of no use."""
        self.turns, self._here, self._began = 0, 0, self.time()
        try:
            self.run_until_complete(last)
        except BaseException as error:  # whatever an answer does when it is told to leave: it has been judged
            last.close()
            return not isinstance(error, Endless)
        return True


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        return self._loop.wait(super().select, timeout)


def _works(frame: FrameType) -> bool:
    """Whether a thread in this frame does something for somebody, or waits to be told what to do."""
    if frame.f_code.co_name == "_worker" and "work_queue" in frame.f_locals:  # of concurrent.futures
        return "work_item" in frame.f_locals or frame.f_locals["work_queue"].qsize() > 0
    inside, asleep = _outside_of(WAITING, frame)
    if inside is frame or inside is None:  # it computes, or has just been started
        return True
    if asleep is not None:  # in the `get` of a queue
        return frame.f_code.co_name != "wait" or asleep.qsize() > 0
    # who waits inside of the check is no longer held, and goes on at once
    return bool(inside.f_globals.get("__name__", "").startswith(__package__))


def _outside_of(files: tuple[str, ...], frame: FrameType | None) -> tuple[FrameType | None, Any]:
    """The innermost frame outside of these files, and the queue in whose `get` one inside of them is."""
    found = None
    while frame is not None and frame.f_code.co_filename.endswith(files):
        found = frame.f_locals.get("self") if frame.f_code.co_name == "get" else found
        frame = frame.f_back
    return frame, found
