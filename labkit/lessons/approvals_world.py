"""The world of the lesson on questions to a person: a worker in the night, a person in the morning, and what must hold between them.

`night` makes a scenario of a design. Its process is the whole machine: worker and dashboard, one after the other. The person sees each question when it is put,
sleeps, and says yes to the first call of the run and no to every other one. A machine that died is followed by another, which knows what is durable.

Not handled here: the designs (see `approvals`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from labkit.agent.approval import APPROVED, REFUSED, question_for
from labkit.agent.cloud_tools import disk_tools
from labkit.agent.conversation import ToolCall
from labkit.agent.journal import ToolJournal
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, Effect, MemoryLedger
from labkit.database import writing
from labkit.faults import End, Process, Scenario
from labkit.queue import Job, TaskQueue
from labkit.queue.job import Ask
from labkit.queue.options import put_options
from labkit.task import TaskState

TASK, GOAL = "t1", "Make room on web-1."
NIGHT = 5 * 3600.0  # seconds
MOST = 4  # attempts and answers of one machine
CLEAN = disk_tools(Cloud(MemoryLedger(), VirtualClock()))["clean_logs"]
SEEN = "the person is asked"


def call(turn: int, host: str) -> ToolCall:
    """A call as the model asks for it in this turn."""
    return ToolCall(f"turn{turn}_call1", "clean_logs", f'{{"host": "{host}"}}')


ONCE = (call(1, "web-1"),)
TWO_HOSTS = (call(1, "web-1"), call(2, "web-2"))
TWICE = (call(1, "web-1"), call(2, "web-1"))


def asked_for(one: ToolCall) -> str:
    """The library's question for a call."""
    return question_for(one, CLEAN)


@dataclass
class Desk:
    """What a design works with. `memory` dies with the machine."""

    process: Process
    calls: tuple[ToolCall, ...]
    memory: dict[Any, Any] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.queue = TaskQueue(self.process.engine, clock=self.process.clock)
        self.journal = ToolJournal(self.process.engine, TASK)

    def left(self) -> Iterator[ToolCall]:
        """The calls that have no recorded result yet."""
        return (one for one in self.calls if self.journal.result(one.id) is None)

    def settle(self, one: ToolCall, said: str) -> None:
        """Make the call if the person said yes, and record what came of it."""
        if said == APPROVED:
            self.process.cloud.clean_logs("web-2" if "web-2" in one.arguments else "web-1", key=f"{TASK}:{one.id}")
        self.journal.record(one.id, said)

    def asks(self, question: str) -> None:
        """Put the question to the person, once for each machine."""
        if question not in self.seen:
            self.seen.add(question)
            self.process.note(SEEN, question)
            world = self.process.world  # where a lesson can count it, whatever died since
            world.ledger.append(
                Effect(
                    SEEN, question, None, "", world.clock.now().isoformat(), self.process.gate.process, changed=False
                )
            )

    def sleeps(self) -> None:
        """Until the morning."""
        self.process.clock.sleep(NIGHT)

    def person(self) -> str:
        """What the person says."""
        return APPROVED if self.journal.result(ONCE[0].id) is None else f"{REFUSED}: enough for tonight"

    def take_answer(self) -> str | None:
        """Read the answer, and take it out."""
        said = self.queue.question(TASK).answer
        if said is not None:
            with writing(self.process.engine) as connection:
                put_options(connection, TASK, answer=None)
        return said


Work = Callable[[Job, Desk], object]
Reply = Callable[[Desk], None]


def answers(desk: Desk) -> None:
    """The dashboard stores what the person says with the task."""
    desk.queue.answer(TASK, desk.person())


def attempt(desk: Desk, work: Work) -> TaskState:
    """One attempt of a worker, and the state that it leaves; what it cannot do without a person is parked."""
    task = desk.queue.get(TASK)
    # a machine that comes back has the lease still
    held = task if task.state is TaskState.RUNNING else desk.queue.claim("w1")
    if held is None:
        return task.state
    job = Job(desk.queue, held)
    try:
        work(job, desk)
    except Ask as asked:
        task = desk.queue.park(job.lease, str(asked))
        desk.asks(str(asked))
        return task.state
    return desk.queue.complete(job.lease, "there is room").state


def machine(process: Process, work: Work, reply: Reply, calls: tuple[ToolCall, ...]) -> str:
    """Worker and dashboard until the task is done, or until nothing helps any more."""
    desk = Desk(process, calls)
    for _ in range(MOST):
        state = attempt(desk, work)
        if state is not TaskState.WAITING:
            break
        desk.sleeps()
        reply(desk)
    return str(state)


def night(work: Work, reply: Reply = answers, calls: tuple[ToolCall, ...] = ONCE, name: str = "") -> Scenario:
    """A night with this design; the person has said yes to the first of the calls, and to no other."""
    run = partial(machine, work=work, reply=reply, calls=calls)
    rules = [asked_once, only_what_was_allowed, answer_counts]
    return Scenario(name or work.__name__, run, rules, setup=_submit, goal=lambda end: end.last.value == "completed")


def _submit(process: Process) -> None:
    TaskQueue(process.engine, clock=process.clock, new_id=lambda: TASK).submit(GOAL)


def asked_once(end: End) -> str | None:
    """An invariant: nobody is asked a second time what was asked before."""
    times = Counter((effect.name, effect.target) for effect in end.effects if effect.name in (SEEN, "send_mail"))
    return next((f"the person is asked {count} times" for count in times.values() if count > 1), None)


def only_what_was_allowed(end: End) -> str | None:
    """An invariant: web-1 was cleaned once at most, and nothing else was."""
    made = [f"{effect.name} {effect.target}" for effect in end.effects if effect.name == "clean_logs"]
    wrong = [one for place, one in enumerate(made) if one != "clean_logs web-1" or place]
    return f"{wrong[0]} ran on a yes to something else" if wrong else None


def answer_counts(end: End) -> str | None:
    """An invariant: what the person allowed is done in the end."""
    done = end.last.value == "completed" and end.count("clean_logs", "web-1")
    return None if done else f"{end.last.value if end.last.how == 'returned' else end.last} for ever"
