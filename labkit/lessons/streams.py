"""Chapter 21, progress: ways in which what a worker tells comes to a page, each sound at first sight.

A task has six steps of five seconds. A page shows what it is sent, in order; `WHOLE` is what it should show in the end, whenever it came and however often its
connection was cut. `logged` and `with_ids` are the library's ways; every other one is broken on purpose, under what its docstring says.

Not handled here: the commit that ends a task (see `streams_ends`), silence (see `streams_quiet`) and slow readers (see `streams_slow`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from labkit.clock import Clock
from labkit.faults import End, Process, Scenario
from labkit.lessons.queues import open_queue
from labkit.progress.log import ProgressLog
from labkit.progress.update import ProgressUpdate, Status
from labkit.queue import Lease, TaskQueue
from labkit.server.sse import Decoder, encode, last_event_id

STEPS: tuple[tuple[Status, str, str], ...] = (
    ("thinking", "", "reads the task"),
    ("tool_call", "check_disk", "web-1"),
    ("tool_result", "check_disk", "sda1 is 95% full"),
    ("tool_call", "clean_logs", "web-1"),
    ("tool_result", "clean_logs", "20 GB freed"),
    ("thinking", "", "sums it up"),
)
STEP_SECONDS, ALL_SECONDS = 5, 30
WHOLE = "1 2 3 4 5 6 end"
NOTHING = "nothing, for ever"


@dataclass
class Work:
    """One task under way: what it told so far is in the log."""

    queue: TaskQueue
    clock: Clock
    task_id: str = ""

    def __post_init__(self) -> None:
        self.task_id = self.queue.submit("Make room on web-1.")
        task = self.queue.claim("w1")
        assert task is not None
        self.lease = Lease.of(task)

    @property
    def log(self) -> ProgressLog:
        return self.queue.progress

    def tell(self, step: int) -> ProgressUpdate:
        """The callback in the loop: one step more, in the log."""
        status, tool, message = STEPS[step - 1]
        update = ProgressUpdate(
            task_id=self.task_id, step=step, status=status, message=message,
            total_step=len(STEPS), tool=tool, time=self.clock.now(),
        )  # fmt: skip
        self.log.append(update, self.lease)
        return update

    def end(self) -> None:
        self.queue.complete(self.lease, "there is room")


def work(process: Process | None = None) -> Work:
    """A task that a worker has just claimed."""
    queue = open_queue() if process is None else open_queue(process.clock, engine=process.engine)
    return Work(queue, queue.clock)


def shown(updates: list[ProgressUpdate]) -> str:
    """What a page shows that was sent these."""
    return " ".join("end" if update.terminal else str(update.step) for update in updates) or NOTHING


Send = Callable[[ProgressUpdate], None]


@dataclass
class callback:
    """The loop calls whoever listens at that moment. Breaks for a page that comes late: nobody remembers what was said."""

    work: Work
    listeners: list[Send] = field(default_factory=list)

    def connect(self, send: Send) -> None:
        self.listeners.append(send)

    def told(self, update: ProgressUpdate) -> None:
        for send in self.listeners:
            send(update)


@dataclass
class logged:
    """The library's: a page is sent what is in the log, and then what comes."""

    work: Work
    readers: list[Send] = field(default_factory=list)

    def connect(self, send: Send) -> None:
        self.readers.append(send)
        for _, update in self.work.log.after(self.work.task_id):
            send(update)

    def told(self, update: ProgressUpdate) -> None:
        for send in self.readers:
            send(update)


Way = type[callback] | type[logged]


def visit(process: Process, way: Way, comes: int) -> str:
    """What a page shows that comes in front of this step; 8 is after the end."""
    now, page = work(process), list[ProgressUpdate]()
    line = way(now)
    for step in range(1, len(STEPS) + 2):
        if comes == step:
            line.connect(page.append)
        if step > len(STEPS):
            now.end()
            line.told(now.log.after(now.task_id)[-1][1])
        else:
            line.told(now.tell(step))
    if comes > len(STEPS) + 1:
        line.connect(page.append)
    return shown(page)


def late(way: Way, comes: int = 8) -> Scenario:
    """A page that comes in front of a step, or after the end."""
    return Scenario(f"late.{way.__name__}", partial(visit, way=way, comes=comes), [shows_all])


def shows_all(end: End) -> str | None:
    """An invariant: the page shows each step once, in order, and the end."""
    return None if end.last.value == WHOLE else f"the page shows: {end.last.value}"


Entries = list[tuple[int, ProgressUpdate]]
Frames = Callable[[Work, str], Iterator[list[bytes]]]


def with_ids(work: Work, last_id: str) -> Iterator[list[bytes]]:
    """The library's: the id is the position in the log, and a page that comes again goes on behind it."""
    after = last_event_id(last_id)
    while True:
        entries = work.log.after(work.task_id, after)
        after = entries[-1][0] if entries else after
        yield [encode(*entry) for entry in entries]


def without_ids(work: Work, last_id: str) -> Iterator[list[bytes]]:
    """Sends `event` and `data`. Breaks when a page comes again: it cannot say how far it was, and everything is sent once more."""
    for frames in with_ids(work, last_id):
        yield [frame.partition(b"\n")[2] for frame in frames]


def from_now(work: Work, last_id: str) -> Iterator[list[bytes]]:
    """Sends what is told from now on. Breaks when a page comes again: what was told while it was away is lost."""
    newest = max([0, *(position for position, _ in work.log.after(work.task_id))])
    yield from with_ids(work, str(newest))


def own_numbers(work: Work, last_id: str) -> Iterator[list[bytes]]:
    """Counts the events of each connection. Breaks when a page comes again twice: its number means another event by then."""
    number = 0
    for frames in without_ids(work, last_id):
        sent = []
        for frame in frames:
            number += 1
            sent.append(b"id: %d\n%b" % (number, frame))
        yield sent


LIVES, AWAY, GIVES_UP = 12, 6, 72  # seconds: of a connection in this tunnel, until the page is back, and all in all


def tunnel(process: Process, frames: Frames) -> str:
    """What a page shows whose connection is cut again and again, with `|` for each cut."""
    now, page, seen = work(process), Decoder(), list[str]()
    for second in range(GIVES_UP):
        if second < ALL_SECONDS and second % STEP_SECONDS == 1:
            now.tell(1 + second // STEP_SECONDS)
        if second == ALL_SECONDS + 1:
            now.end()
        phase = second % (LIVES + AWAY)
        if phase == 0:
            page = Decoder(page.last_id)
            stream = frames(now, page.last_id)
        if phase < LIVES:
            for event in (event for frame in next(stream) for event in page.feed(frame)):
                seen.append(shown([ProgressUpdate.model_validate_json(event.data)]))
            if seen[-1:] == ["end"]:
                return " ".join(seen)
        elif phase == LIVES:
            seen.append("|")
    return " ".join(seen)


def cut(frames: Frames) -> Scenario:
    """A page in a tunnel."""
    return Scenario(f"cut.{frames.__name__}", partial(tunnel, frames=frames), [shows_all_once])


def shows_all_once(end: End) -> str | None:
    """An invariant: leaving the cuts aside, each step once, in order, and the end."""
    seen = str(end.last.value)
    return None if " ".join(seen.replace("|", "").split()) == WHOLE else seen
