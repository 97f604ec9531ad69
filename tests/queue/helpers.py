"""What the tests of the queue share: looking at a task's end, heartbeats that hang on a virtual clock, and a machine that gives no more threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from labkit.clock import SystemClock, VirtualClock
from labkit.queue import Lease, TaskQueue
from labkit.task import Task

SECONDS = 240.0  # after which a test gives up, on a machine that is busy with other things too


def until(true: Callable[[], object]) -> None:
    """Wait for another process, a while at most."""
    clock = SystemClock()
    give_up = clock.monotonic() + SECONDS
    while not true():
        assert clock.monotonic() < give_up, "it takes too long"
        clock.sleep(0.02)


def taken(queue: TaskQueue, worker: str = "w1") -> Lease:
    """Claim something that must be there."""
    task = queue.claim(worker)
    assert task is not None
    return Lease.of(task)


def ends(queue: TaskQueue, task_id: str) -> list[tuple[str, str]]:
    """The terminal events of a task over all its runs, as (status, message)."""
    return [(update.status, update.message) for _, update in queue.progress.history(task_id) if update.terminal]


def without_times(task: Task) -> dict[str, object]:
    return {name: value for name, value in vars(task).items() if not name.endswith("_at")}


class Ticks:
    """An `Every` on a virtual clock: no threads, each beat happens when the clock passes its instant."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock, self.acts = clock, list[tuple[float, Callable[[], object], list[float]]]()
        self.frozen = False
        clock.moved = self._moved

    def __call__(self, seconds: float, act: Callable[[], object]) -> Callable[[], object]:
        entry = (seconds, act, [self.clock.elapsed])
        self.acts.append(entry)
        return lambda: self.acts.remove(entry)

    def _moved(self) -> None:
        for seconds, act, last in list(self.acts):
            while not self.frozen and self.clock.elapsed - last[0] >= seconds:
                last[0] += seconds
                act()


def refuse_threads(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """From the second one on, no thread of this name can be started; where there is one only, not even that."""
    start, began = threading.Thread.start, list[str]()

    def begin(thread: threading.Thread) -> None:
        if thread.name.startswith(f"labkit {what}"):
            began.append(thread.name)
            if len(began) > 1 or what == "listener":
                raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", begin)
