"""A night in virtual time, played with the library's queue: what a question costs while nobody answers it.

At three the agent wants to delete something, and eight other tasks are due, half an hour each. A quarter past five the worker is replaced by a new one;
until eight nobody is awake. `night_of` plays that with a handler that blocks and with one that parks, and gives the lanes of a chart.

Not handled here: drawing them (see `waiting_lanes`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.agent.approval import APPROVED
from labkit.lessons.approvals_world import GOAL, ONCE, asked_for
from labkit.lessons.queues import open_queue
from labkit.lessons.waiting_lanes import QUARTER, Bar, Lane, Moment, Night, Nights, o_clock
from labkit.plural import counted
from labkit.queue import Lease, TaskQueue
from labkit.task import Task, TaskState

TASK = "task-1"
BEGINS, REPLACED, MORNING, ENDS = 3.0, 5.25, 8.0, 9.0  # o'clock
ROUTINE, ROUTINE_HOURS = 8, 0.5  # tasks, and how long each takes
NAMES = ("w1", "w2")


@dataclass
class Shift:
    """A night under way: what the worker holds, who waits for an answer in memory, and the lanes so far."""

    blocking: bool
    queue: TaskQueue
    at: float = BEGINS
    held: Task | None = None
    begun: float = 0.0  # when the worker began what it holds
    waits: str = ""  # the worker that has an open question in its memory
    mails: list[str] = field(default_factory=list)  # who asked, as the person sees it
    done: dict[str, float] = field(default_factory=dict)
    bars: dict[str, list[Bar]] = field(default_factory=dict)
    moments: dict[str, list[Moment]] = field(default_factory=dict)

    @property
    def worker(self) -> str:
        return NAMES[self.at >= REPLACED]

    def draw(self, lane: str, kind: str) -> None:
        """A quarter more of this."""
        known, ends = self.bars.setdefault(lane, []), self.at + QUARTER
        if known and known[-1].kind == kind and known[-1].ends == self.at and kind != "routine":
            known[-1] = Bar(known[-1].begins, ends, kind)
        else:
            known.append(Bar(self.at, ends, kind))

    def say(self, lane: str, text: str, *, lost: bool = False) -> None:
        self.moments.setdefault(lane, []).append(Moment(self.at, text, lost))

    def finish(self) -> None:
        """What the worker holds is done when this quarter is over."""
        assert self.held is not None
        self.queue.complete(Lease.of(self.held), "done")
        self.done[self.held.id] = self.at + QUARTER
        self.held = None


def nights() -> Nights:
    """The same night, twice."""
    return Nights((night_of(blocking=True), night_of(blocking=False)), BEGINS, ENDS)


def night_of(*, blocking: bool) -> Night:
    """Play the night, quarter by quarter."""
    shift = Shift(blocking, open_queue(lease_seconds=QUARTER * 3600 + 1))
    shift.queue.submit(GOAL, priority=1)
    for number in range(ROUTINE):
        shift.queue.submit(f"routine {number + 1}")
    while shift.at < ENDS:
        _quarter(shift)
        shift.queue.clock.sleep(QUARTER * 3600)
        shift.at += QUARTER
    names = ("the task", *NAMES, "the person")
    lanes = [Lane(name, tuple(shift.bars.get(name, ())), tuple(shift.moments.get(name, ()))) for name in names]
    return Night("waits inside of the worker" if blocking else "parks", _score(shift), tuple(lanes))


def _score(shift: Shift) -> str:
    asked = sum(moment.text.startswith("asked") for moment in shift.moments["the person"])
    early = sum(at <= MORNING for task_id, at in shift.done.items() if task_id != TASK)
    return f"asked {counted(asked, 'time')}, {early} of {ROUTINE} other tasks done by {o_clock(MORNING)}, cleaned at {o_clock(shift.done[TASK])}"


def _quarter(shift: Shift) -> None:
    if shift.at == REPLACED:
        shift.say(NAMES[0], "replaced")
        shift.held, shift.waits = None, ""  # crash here: whatever the worker had in its memory
    if shift.at >= MORNING:
        _person(shift)
    if shift.held is None:
        _claim(shift)
    if shift.held is not None:
        shift.queue.heartbeat(Lease.of(shift.held))
        _work(shift, shift.held)
    if shift.queue.get(TASK).state is TaskState.WAITING:
        shift.draw("the task", "waiting")


def _claim(shift: Shift) -> None:
    """The next task; one that asks and parks leaves the worker free for another one at once."""
    shift.held, shift.begun = shift.queue.claim(shift.worker), shift.at
    if shift.held is None or shift.held.id != TASK or shift.queue.question(TASK).answer is not None:
        return
    shift.say("the person", "asked" if "the person" not in shift.moments else "asked again")
    if shift.blocking:
        shift.waits = shift.worker
        shift.mails.append(shift.worker)
    else:
        shift.queue.park(Lease.of(shift.held), asked_for(ONCE[0]))
        _claim(shift)


def _work(shift: Shift, held: Task) -> None:
    """A quarter of work on what the worker holds, or of waiting with it in its hands."""
    mine = held.id == TASK
    shift.draw(shift.worker, "blocked" if shift.waits else "held" if mine else "routine")
    if mine:
        shift.draw("the task", "held")
    if not shift.waits and (mine or shift.at + QUARTER - shift.begun >= ROUTINE_HOURS):
        shift.finish()


def _person(shift: Shift) -> None:
    """In the morning the person answers, one question each quarter, in the order in which they came."""
    if not shift.blocking:
        if shift.queue.get(TASK).state is TaskState.WAITING:
            shift.queue.answer(TASK, APPROVED)
            shift.say("the person", "yes")
    elif shift.mails:
        asker = shift.mails.pop(0)
        shift.say("the person", "yes" if asker == shift.waits else f"yes, to {asker}", lost=asker != shift.waits)
        shift.waits = "" if asker == shift.waits else shift.waits
