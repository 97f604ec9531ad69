"""Tell a task more while it is on its way: what a person adds is kept in order, and whoever works on it reads it between two steps.

An amendment is kept with the task, under its row, so none is taken once the task has ended, and two that are sent at once both stand there, in one
order. Whoever cannot know whether it arrived says which one it shall be (`number`), and sends it again: it stands there once. Nobody is interrupted
by it. A worker that dies has read nothing that the next one does not read again.

Not handled here: what it means, and one that arrives in the moment between the handler's last look and the end of the task: it is kept and stays unread.
A handler reads `job.amendments()`; an agent gives them to its model.
"""

from __future__ import annotations

from sqlalchemy import Engine, func, insert, select

from labkit.database import reading, writing
from labkit.errors import InvalidTransition, UsageError
from labkit.queue.change import ENDED, find
from labkit.store.contract import plain_count, plain_text
from labkit.tables import amendments, tasks

_of = amendments.c


def amend(engine: Engine, task_id: str, text: str, number: int | None = None) -> int:
    """Keep `text` for the task and return which amendment it is, from 1. `TaskNotFound`; `InvalidTransition` when it has ended.

    With `number` only as that one, also `InvalidTransition` when that is another one by now, or cannot be the next; what stands there already is not added.
    """
    told = plain_text("text", text)
    if number is not None and plain_count("number", number) < 1:
        raise UsageError("amendments have numbers from 1")
    with writing(engine) as connection:
        connection.execute(select(tasks.c.id).where(tasks.c.id == task_id).with_for_update())
        task = find(connection, task_id)
        if number is not None and connection.scalar(select(_of.text).where(_of.task_id == task_id, _of.seq == number)) == told:
            return number
        if task.state in ENDED:
            raise InvalidTransition(f"{task} has ended: nothing can be added")
        newest = connection.scalar(select(func.max(_of.seq)).where(_of.task_id == task_id)) or 0
        if number not in (None, newest + 1):
            raise InvalidTransition(f"the next amendment of {task} is number {newest + 1}, not {number}")
        connection.execute(insert(amendments), {"task_id": task_id, "seq": newest + 1, "text": told})
    return newest + 1


def read(engine: Engine, task_id: str) -> list[str]:
    """What was added so far, oldest first."""
    chosen = select(_of.text).where(_of.task_id == task_id).order_by(_of.seq)
    with reading(engine) as connection:
        return list(connection.scalars(chosen))
