"""Keeps the workers of an evening at work: whoever is killed is replaced, until nothing can happen any more. Then everybody goes home.

Each worker is a process of its own, a child of a warm parent that is not the notebook's kernel. A `kill_one` is a real SIGKILL. Nothing outlives the evening:
it ends by itself, a new one ends the one before, and when the kernel ends, however it does, the parent kills its children and leaves.

Not handled here: what the workers do (see `capstone`), and what is left in the end (see `capstone_left`).
"""

from __future__ import annotations

import atexit
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import count, cycle
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from labkit.clock import SystemClock
from labkit.database import reading, write_transaction
from labkit.errors import LabkitError, StoreBusy, UsageError
from labkit.faults.child import SIGKILL, Child
from labkit.faults.folder import new_folder
from labkit.faults.nursery import Nursery
from labkit.ids import counted_ids
from labkit.lessons.capstone import CLOSED, HURRY, LIMIT, MANY, ORDERS, SEED, SYSTEMS, database, ledger, places
from labkit.lessons.capstone_left import Left
from labkit.lessons.capstone_map import Panel
from labkit.queue import TaskQueue
from labkit.queue.threads import thread
from labkit.tables import create_tables, tasks
from labkit.task import TaskState

WORKERS = ("w1", "w2", "w3", "w4")
SECONDS = 1.0  # of a lease, where nobody waits for it in the story's time
LOOK = 0.1  # seconds from one look at the evening to the next
TELL = 3  # looks from one picture on the page to the next
LINGER = 30.0  # seconds for which workers stay when all is done, unless somebody waits for the end
TONIGHT = timedelta(hours=1)
NURSERY = Nursery(["labkit.lessons.capstone", "labkit.faults.warming:warm"])

_latest: list[Evening] = []  # the one that may be under way


class Evening:
    """An evening of a system. With a `seed` the work itself kills, in the places of that seed; without one only `kill_one` does.

    With `lease` seconds a lease really runs out. Without, it is as long as its system says, and whenever a worker has died its tasks are treated as if
    that minute had passed: so no worker that is merely slow is ever taken for dead, and a broken evening ends the same way each time.
    """

    def __init__(self, system: str = "sound", *, seed: int | None = None, pace: float = 0.0, lease: float | None = None) -> None:
        self.system, self.pace, self.lease = SYSTEMS[system], pace, lease
        self.token = f"{system}.evening/kill:{'by hand' if seed is None else seed}"
        self.deadly = () if seed is None else places(seed)
        self.killed = 0
        self.struck: list[str] = []  # the tasks that a process had in hand when it died
        self.failed: list[str] = []
        self._panel: Panel | None = None
        self._lock, self._over = threading.Condition(), False
        self._running: dict[str, tuple[str, Child]] = {}  # worker -> the name of its life, and its process
        self._turn = cycle(WORKERS)

    def begin(self) -> Evening:
        """Take all orders, and let the workers begin. Returns at once; an evening that is under way is stopped first."""
        for evening in list(_latest):
            evening.stop()
        _latest[:] = [self]
        self.folder = new_folder()
        self.engine = database(self.folder)
        create_tables(self.engine)
        queue = TaskQueue(self.engine, max_attempts=MANY, new_id=counted_ids("t"))
        for order in ORDERS:
            queue.submit(order)
        NURSERY.warm()
        atexit.register(self.stop)  # subtle: behind the nursery's own, so that it comes before, and nobody is replaced any more
        self._threads = [thread(f"labkit evening {name}", partial(self._keep, name)) for name in WORKERS]
        self._threads.append(thread("labkit evening", self._watch))
        return self

    def kill_one(self) -> str:
        """Kill a worker's process, one after the other in turn, and wait until it is replaced. Says what happened."""
        with self._lock:
            if not self._lock.wait_for(lambda: self._running or self._over, LIMIT) or not self._running:
                return "nobody is at work: the evening is over"
            worker = next(name for name in self._turn if name in self._running)
            life, child = self._running[worker]
            child.kill()
            self._lock.wait_for(lambda: self._running.get(worker, (life, child))[0] != life or self._over, LIMIT)
            return f"SIGKILL to {worker}: " + ("replaced" if worker in self._running else "the evening is over")

    def end(self) -> Left:
        """Nobody takes a breath any more; wait for the end, and say what is left."""
        with suppress(FileNotFoundError):  # it is over already
            (self.folder / HURRY).touch()
        for started in self._threads:
            started.join(2 * LIMIT)
        self.stop()
        if self.failed:
            raise LabkitError(f"{self.token}: {self.failed[0]}")
        return self._left

    def stop(self) -> None:
        """Kill whoever is at work, and replace nobody. Nothing happens where the evening is over."""
        if not self._over:
            self._fail("it was stopped in the middle")
        for started in self._threads:
            if started is not threading.current_thread():
                started.join(LIMIT)
        atexit.unregister(self.stop)
        if self.folder.exists():
            self._left = self.look()
            self.engine.dispose()
            shutil.rmtree(self.folder, ignore_errors=True)
        _latest[:] = [evening for evening in _latest if evening is not self]

    def look(self, **now: Any) -> Left:
        """What there is by now."""
        return Left.of(self.token, self.engine, ledger(self.folder), self.killed, self.deadly, **now)

    @property
    def running(self) -> list[int]:
        """The process ids of those at work."""
        with self._lock:
            return [child.pid for _, child in self._running.values()]

    def _keep(self, worker: str) -> None:
        """Start a worker, and again whenever it was killed."""
        try:
            for life in count(1):
                child = self._start(worker, f"{worker}.{life}")
                if child is None or not self._gone(worker, f"{worker}.{life}", self._listen(child)):
                    return
        except (LabkitError, SQLAlchemyError) as error:
            self._fail(repr(error))
            self._running.pop(worker, None)

    def _fail(self, why: str) -> None:
        """End it all, and replace nobody: something happened that is no kill."""
        with self._lock:
            self.failed.append(why)
            self._over = True
            for _, child in self._running.values():
                child.kill()
            self._lock.notify_all()

    def _start(self, worker: str, name: str) -> Child | None:
        with self._lock:
            if self._over:
                return None
            it: dict[str, Any] = {"system": self.system.name, "lease": self.lease or self.system.lease_seconds, "pace": self.pace}
            child = NURSERY.start("labkit.lessons.capstone:work", folder=str(self.folder), name=name, deadly=list(self.deadly), **it)
            self._running[worker] = name, child
            self._lock.notify_all()
            return child

    def _listen(self, child: Child) -> int:
        """Hear a child to its end."""
        try:
            for report in child.reports(2 * LIMIT, 2 * LIMIT):
                self._fail(str(report.get("failed", report)))
        except TimeoutError:
            child.kill()
        return child.wait()

    def _gone(self, worker: str, name: str, status: int) -> bool:
        """A process has ended; whether another one is wanted in its place."""
        with self._lock:
            killed = status == -SIGKILL and not self._over
            if killed:
                self.killed += 1
                self.struck += self._bury(name)
            del self._running[worker]
            self._lock.notify_all()
        if status not in (0, -SIGKILL):
            self._fail(f"{name} ended with {status}")
        return killed

    def _bury(self, name: str) -> Sequence[str]:
        """The tasks of a process that has died. Where leases do not run out by themselves, their minute has passed now."""
        with write_transaction(self.engine) as connection:
            held = tasks.c.worker_id == name, tasks.c.state == TaskState.RUNNING.value
            rows = connection.execute(select(tasks.c.id, tasks.c.lease_expires_at).where(*held)).all()
            for row in rows if self.lease is None else ():
                passed = row.lease_expires_at - timedelta(seconds=2 * SYSTEMS["sound"].lease_seconds)
                connection.execute(update(tasks).where(tasks.c.id == row.id).values(lease_expires_at=passed))
        return [row.id for row in rows]

    def _watch(self) -> None:
        """See the evening through, and send everybody home."""
        try:
            self._until_done()
        except Exception as error:  # whatever it is, nobody is left at work
            self._fail(repr(error))
        (self.folder / CLOSED).touch()
        for started in self._threads[: len(WORKERS)]:
            started.join(LIMIT)
        with self._lock:
            self._over = True
        with suppress(StoreBusy):
            self._tell()

    def _until_done(self) -> None:
        """Until nothing can happen any more and somebody waits for that, or nobody came for a while."""
        clock = SystemClock()
        began = done = clock.monotonic()
        for look in count():
            with suppress(StoreBusy):  # then we look again
                left = self._something_left()
                done = clock.monotonic() if left else done
                if not left and ((self.folder / HURRY).exists() or clock.monotonic() - done >= LINGER):
                    return
                if look % TELL == 0:
                    self._tell()
            if clock.monotonic() - began > LIMIT:
                self._fail("it does not end")
            with self._lock:
                if self._lock.wait_for(lambda: self._over, LOOK):
                    return

    def _tell(self) -> None:
        """Have the page show how it stands."""
        if self._panel is not None:
            left = self.look(struck=tuple(self.struck), over=self._over)
            self._panel.show(left.columns(), self._in_hand(left), over=self._over)

    def _in_hand(self, left: Left) -> str:
        """Who has what in hand."""
        hands = {(task.worker_id or "").partition(".")[0]: task.user_input for task in left.tasks if task.state == TaskState.RUNNING}
        if self._over:
            return f"over: {left}"
        return f"killed: {self.killed} \N{EN DASH} " + ", ".join(f"{name}: {hands.get(name, 'nothing')}" for name in WORKERS)

    def _repr_mimebundle_(self, **options: object) -> dict[str, Any]:
        """The map with its button, live, where somebody runs the notebook; where it is only read, what one could do."""
        said = f"{len(ORDERS)} orders, {len(WORKERS)} workers. Run the cell, and here is a button that kills one of them."
        with suppress(ImportError):  # without widgets there is `kill_one`
            self._panel = self._panel or Panel(self.kill_one)
            return self._panel.bundle(said)
        return {"text/plain": said}

    def _something_left(self) -> bool:
        """Whether a task waits, or is in the hands of somebody alive, or of somebody dead whose lease will be over tonight."""
        alive = [name for name, _ in list(self._running.values())]
        held = or_(tasks.c.worker_id.in_(alive), tasks.c.lease_expires_at < SystemClock().now() + TONIGHT)
        going: Any = select(tasks.c.id).where(or_(tasks.c.state == "pending", (tasks.c.state == "running") & held))
        with reading(self.engine) as connection:
            return connection.execute(going.limit(1)).first() is not None


def play(system: str = "sound", seed: int = SEED, *, lease: float | None = None) -> Left:
    """A whole evening that kills its workers itself, in the places of this seed; what is left of it."""
    return Evening(system, seed=seed, lease=lease).begin().end()


def again(token: str) -> Left:
    """The evening of a token, played once more."""
    system, _, seed = token.partition(".evening/kill:")
    if system not in SYSTEMS or not seed.isdecimal():
        raise UsageError(f"{token} is no evening that kills by itself")
    return play(system, int(seed))
