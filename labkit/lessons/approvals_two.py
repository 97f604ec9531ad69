"""Two people answer one question at the same time: the first word counts, and the other person is told.

`last_word` is broken on purpose; `first_word` is the library's. `interleave` tries every order of the two.

Not handled here: who may answer at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy import update

from labkit.agent.approval import APPROVED, REFUSED
from labkit.database import writing
from labkit.errors import InvalidTransition
from labkit.faults import End, Process, Scenario
from labkit.lessons.approvals_world import GOAL, ONCE, TASK, asked_for
from labkit.queue import Lease, TaskQueue
from labkit.queue.options import put_options
from labkit.tables import tasks
from labkit.task import TaskState

Tell = Callable[[TaskQueue, str], None]


def last_word(queue: TaskQueue, word: str) -> None:
    """Looks whether it waits, and stores. Breaks when two people have looked: the second writes over the first."""
    if queue.get(TASK).state is not TaskState.WAITING:
        raise InvalidTransition("it waits for no answer")
    with writing(queue.engine) as connection:
        put_options(connection, TASK, answer=word)
        connection.execute(update(tasks).where(tasks.c.id == TASK).values(state=TaskState.PENDING.value))


def first_word(queue: TaskQueue, word: str) -> None:
    """The library's: one statement changes the task if it waits, and the answer is stored in the same commit."""
    queue.answer(TASK, word)


def two_people(tell: Tell) -> Scenario:
    """One says no, the other yes."""
    people = [partial(_says, tell=tell, word=word) for word in (REFUSED, APPROVED)]
    return Scenario(f"two_people.{tell.__name__}", people, [one_word_counts], setup=_waits)


def _waits(process: Process) -> None:
    queue = TaskQueue(process.engine, clock=process.clock, new_id=lambda: TASK)
    queue.submit(GOAL)
    task = queue.claim("w1")
    assert task is not None
    queue.park(Lease.of(task), asked_for(ONCE[0]))


def _says(process: Process, tell: Tell, word: str) -> str:
    """What the person is told."""
    queue = TaskQueue(process.engine, clock=process.clock)
    try:
        tell(queue, word)
    except InvalidTransition:
        return f"{word}: too late"
    return f"{word}: it counts"


def one_word_counts(end: End) -> str | None:
    """An invariant: one person is told that their word counts, and it does."""
    told = [str(outcome.value) for outcome in end.outcomes]
    stored = end.rows["task_options"][0]["answer"]
    counts = [one.partition(":")[0] for one in told if one.endswith("counts")]
    return (
        None
        if counts == [stored]
        else f"both were told that it counts, and stored is: {stored}"
        if counts
        else "no word counts"
    )
