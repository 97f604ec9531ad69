"""Threads for actors: kept for the next job, since starting one costs more than a run.

A job that never comes back keeps its thread, and the next job gets another. After a fork there are no threads, and none is believed in.

Not handled here: who may move (see `baton`).
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

Job = Callable[[], None]


class Threads:
    """A pool without a limit: a job starts at once."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = 0
        self._mutex = threading.Lock()

    def start(self, job: Job) -> None:
        with self._mutex:
            new = not self._idle
            self._idle -= not new
        if new:
            threading.Thread(target=self._work, daemon=True, name="labkit actor").start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with suppress(
                BaseException
            ):  # a dead process's last words; whoever wants to hear of errors catches them in the job
                job()
            del job  # subtle: it would keep the last run's objects alive until the next
            with self._mutex:
                self._idle += 1


threads = Threads()


def _none_left() -> None:
    global threads
    threads = Threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_none_left)


def start(job: Job) -> None:
    """Run a job in a thread of its own."""
    threads.start(job)
