"""Park a task until a person has answered, and let it go on with the answer.

A parked task is *waiting*: nobody holds it, no lease runs, and it costs no worker. Its holder parks it with a question, in one transaction with
the event that tells so, and under the same fence as every other end of an attempt; the attempt does not count. Of several answers the
first one wins: it is stored and the task is pending again, in one transaction, so a crash leaves it waiting or answered. The
answer stays with the run of the task, over crashes and retries, until the task asks again or is redriven.

Not handled here: who may answer. A task that nobody answers waits until it is cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, select

from labkit.database import reading, writing
from labkit.errors import InvalidTransition
from labkit.progress.log import append_question
from labkit.queue.change import change, find, moment, named
from labkit.queue.lease import Lease, held, lost
from labkit.queue.notify import notify
from labkit.queue.options import give_back_attempt, put_options
from labkit.store.contract import log_written, plain_text
from labkit.tables import task_options, tasks
from labkit.task import Task, TaskState

_asked = select(task_options.c.question).where(task_options.c.task_id == tasks.c.id).scalar_subquery()


@dataclass(frozen=True)
class Question:
    """What a task asked last, and what it was told; None as long as it asked nothing or nobody answered."""

    text: str | None = None
    answer: str | None = None


def park(engine: Engine, lease: Lease, question: str, now: datetime | None = None) -> Task:
    """The waiting task. `StaleLease`, `UnstorableValue`; nothing is changed then."""
    asked = plain_text("question", question)
    values = {"state": TaskState.WAITING.value, "worker_id": None, "lease_expires_at": None}
    with writing(engine) as connection:
        task = change(connection, moment(connection, now), values, *held(lease))
        if task is not None:
            give_back_attempt(connection, task.id, question=asked, answer=None)
            append_question(connection, task.id, asked)
    if task is None:
        raise lost(engine, lease)
    return log_written(task)


def answer(engine: Engine, task_id: str, text: str, to: str | None = None, now: datetime | None = None) -> Task:
    """The task, pending again and due now. `TaskNotFound`; `InvalidTransition` if it does not wait.

    With `to`, the question that was read, also if it asks something else by now: nobody says yes to what they have not seen.
    """
    told = plain_text("answer", text)
    with writing(engine) as connection:
        at = moment(connection, now)
        values = {"state": TaskState.PENDING.value, "available_at": at}
        same = () if to is None else (_asked == plain_text("question", to),)
        task = change(connection, at, values, named(task_id), tasks.c.state == TaskState.WAITING.value, *same)
        if task is None:
            raise InvalidTransition(f"{find(connection, task_id)} waits for no answer{'' if to is None else ' to this question'}")
        put_options(connection, task_id, answer=told)
        notify(connection)
    return log_written(task)


def question(engine: Engine, task_id: str) -> Question:
    """What the task asked last; `TaskNotFound`."""
    chosen = select(task_options.c.question, task_options.c.answer).where(task_options.c.task_id == task_id)
    with reading(engine) as connection:
        find(connection, task_id)
        row = connection.execute(chosen).first()
    return Question() if row is None else Question(row.question, row.answer)
