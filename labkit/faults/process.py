"""A process: fresh objects, a gate, and one function that runs until it returns, raises or dies.

What a process is handed crosses its gate: the clock (each sleep), the cloud (each call), files (write, fsync, replace), the database (each statement, each
commit) and HTTP (each request). What it holds dies with it. How it ended is said in plain data (see `outcome`).

Not handled here: which faults strike (see `schedule`), and who moves when there are several (see `baton`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from labkit.clock import Clock
from labkit.cloud import Cloud
from labkit.faults.escape import inside_process
from labkit.faults.gate import Gate
from labkit.faults.outcome import Outcome, describe_error, forget_frames, plain, without
from labkit.faults.stage import LockWait
from labkit.faults.world import World
from labkit.files import DiskFiles
from labkit.store import JsonFileStore, MemoryStore, SqlStore, StateStore

if TYPE_CHECKING:
    import httpx

__all__ = ["Outcome", "Process", "describe_error", "plain", "run_body"]


class ProcessClock:
    """The world's clock as one process sees it: sleeping crosses the gate, and `monotonic` starts anew with each process."""

    def __init__(self, gate: Gate) -> None:
        self._gate, self._clock = gate, gate.clock
        self._born = gate.clock.monotonic() - 1.0

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() - self._born

    def sleep(self, seconds: float) -> None:
        self._gate.cross("clock", f"sleep {seconds:g}", lambda: self._gate.stage.sleep(seconds))

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def __repr__(self) -> str:
        return f"<ProcessClock {self._gate.process}>"


class ProcessFiles(DiskFiles):
    """The disk behind the gate. Paths are relative to the world's folder of files."""

    def __init__(self, gate: Gate, world: World, locks: LockWait) -> None:
        self._gate, self._world, self._folder, self._locks = gate, world, world.files_folder, locks

    def _at(self, path: Path | str) -> Path:
        return self._folder / path

    def read(self, path: Path | str) -> bytes | None:
        self._locks.looked = True
        return super().read(self._at(path))

    def exists(self, path: Path | str) -> bool:
        self._locks.looked = True
        return super().exists(self._at(path))

    def write(self, path: Path | str, data: bytes) -> None:
        write, at = super().write, self._at(path)
        self._gate.cross("file", f"write {at.name}", lambda: write(at, data), torn=lambda n: write(at, data[:n]))

    def fsync(self, path: Path | str) -> None:
        sync, at = super().fsync, self._at(path)
        self._gate.cross("file", f"fsync {at.name}", lambda: sync(at))

    def replace(self, src: Path | str, dst: Path | str) -> None:
        move, source, target = super().replace, self._at(src), self._at(dst)
        self._gate.cross("file", f"replace {target.name}", lambda: move(source, target))

    def remove(self, path: Path | str) -> None:
        remove, at = super().remove, self._at(path)
        self._gate.cross("file", f"remove {at.name}", lambda: remove(at))

    @contextmanager
    def lock(self, path: Path | str, clock: Clock, timeout: float) -> Iterator[None]:
        self._locks.looked = True
        self._world.note_lock(self._at(path))
        held = super().lock(self._at(path), clock, timeout)
        held.__enter__()
        release = _once(lambda: held.__exit__(None, None, None))
        self._gate.at_death.append(release)  # a lock dies with its holder
        try:
            yield
        finally:
            release()


def _once(act: Callable[[], object]) -> Callable[[], None]:
    left = [act]

    def do() -> None:
        while left:
            left.pop()()

    return do


class Process:
    """What the function of a process is handed. `store` is the state store of the scenario: sql, json or memory."""

    def __init__(self, world: World, gate: Gate, *, store: str = "sql", locks: LockWait | None = None) -> None:
        self.world, self.gate = world, gate
        self._store_kind, self._locks = store, locks or LockWait()
        self.clock = ProcessClock(gate)
        self.files = ProcessFiles(gate, world, self._locks)
        self.cloud = Cloud(world.ledger, world.clock, by=gate.process, hook=self._call_cloud)

    def _call_cloud(self, label: str, key: str | None, act: Callable[[], str]) -> str:
        def answer() -> str:
            lines_before = len(self.world.ledger.entries())
            text = act()
            again = "" if len(self.world.ledger.entries()) > lines_before else " again"
            if not label.startswith("check_"):
                self.gate.tell("effect", label, f"key={key}{again}")
            return text

        return self.gate.cross("cloud", label, answer)

    @property
    def name(self) -> str:
        """What tells this process from the others of the run: p1, p2, ... One that asks is taken to go its own way (see `sweep`)."""
        self.gate.told_apart = True
        return self.gate.process

    @cached_property
    def random(self) -> random.Random:
        """Randomness that is an input of the run: the same in every replay, another for each process."""
        return random.Random(f"labkit {self.name}")

    @cached_property
    def engine(self) -> Engine:
        """An engine whose connections cross the gate."""
        return self.world.database.engine(self.gate, self._locks)

    @cached_property
    def store(self) -> StateStore:
        """The state store; a memory store is as mortal as its process."""
        if self._store_kind == "memory":
            return MemoryStore(self.clock)
        if self._store_kind == "json":
            return JsonFileStore(self.world.files_folder / "tasks.json", self.clock, files=self.files)
        return SqlStore(self.engine)

    def http(self, handler: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
        """An HTTP client whose requests cross the gate and are answered by `handler`."""
        import httpx  # only where somebody speaks HTTP

        from labkit.faults.model_answers import shaped

        gate = self.gate

        class Wire(httpx.BaseTransport):
            def handle_request(self, request: httpx.Request) -> httpx.Response:
                request.read()
                label, shape = f"{request.method} {request.url.path}", partial(shaped, request)
                return gate.cross("http", label, lambda: handler(request), shape=shape)

        return httpx.Client(transport=Wire(), base_url="http://world")

    def note(self, label: str, text: str = "") -> None:
        """Write something into the record of the run; it is no call and no fault can sit on it."""
        self.gate.tell("note", label, text)

    def starts_thread(self) -> None:
        """Told before the process's code starts a thread."""
        self._locks.starts_thread()

    def end(self) -> None:
        """Give back what the process held: its connections and its locks."""
        self.gate.close()

    def __repr__(self) -> str:
        return f"<Process {self.gate.process}>"


def run_body(process: Process, body: Callable[[Process], Any]) -> Outcome:
    """Run the function of a process to its end and say how it ended. Nothing that it raises comes out of here."""
    name = process.gate.process
    outcome = Outcome(name, "crashed")
    try:
        with inside_process(process.starts_thread):
            value = body(process)
        if not process.gate.dead:
            outcome = Outcome(name, "returned", plain(value))
    except BaseException as error:  # the boundary of the process: here every error becomes data
        if not process.gate.dead:
            here = str(process.world.files_folder) + os.sep
            outcome = Outcome(name, "raised", error=without(here, describe_error(error)))
        forget_frames(error)
    # subtle: code that swallowed its own death and returned, or raised something else, is dead all the same
    return Outcome(name, process.gate.how) if process.gate.how else outcome
