"""An append-only log of what tasks tell, in the database of the tasks: exactly one terminal event for each end of a task.

The end is written by whoever changes the state, in the same transaction (`append_end`): no state without its event, no
event without its state. A question to a person is written in the same way (`append_question`). A running task appends
under the row of the task, so a zombie is refused and the events of one task have positions in the order in which they
became visible. A failed task that is put back to work begins a new *run*: its earlier events stay, and a reader is shown
the newest run. A crash leaves an event whole or not at all.

Not handled here: telling readers that something was appended, and one order over all tasks: see `progress.follow`, since
positions of different tasks may become visible out of order on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, func, insert, select, text

from labkit.database import db_now, reading, shown, writing
from labkit.errors import InvalidTransition, StaleLease, TaskNotFound
from labkit.progress.update import PERSON, ProgressUpdate
from labkit.store.contract import plain_text
from labkit.tables import progress_log, tasks
from labkit.task import TaskState

_log = progress_log.c
# subtle: PostgreSQL could join the other way with all of the log, or go backward through all of it, if it was empty when the plan
# was made; a range of one id, in the order of the index, can only be found in the index of that id
_LAST = {
    "sqlite": """LEFT JOIN progress_log AS last
  ON last.position = (SELECT max(e.position) FROM progress_log AS e WHERE e.task_id = ended.id)""",
    "postgresql": """LEFT JOIN LATERAL (SELECT e.run, e.terminal, e.step, e.total_step
  FROM progress_log AS e WHERE e.task_id BETWEEN ended.id AND ended.id
  ORDER BY e.task_id DESC, e.position DESC LIMIT 1) AS last ON true""",
}


def end_sql(dialect: str, ended: str) -> str:
    """Appends the terminal event. `ended` is the table, for the task `:id`, or a CTE that holds ended tasks as they are now.

    What the last event said of the steps goes on; the run is that of the last event, or the next one if that was an end.
    Where this end is to be told to somebody, it says where: the next run may have another webhook.
    """
    which = "ended.id = :id AND " if ended == "tasks" else ""
    return f"""INSERT INTO progress_log (task_id, run, attempt, step, total_step, status, message, time, terminal, webhook_url)
SELECT ended.id, coalesce(last.run + CASE WHEN last.terminal THEN 1 ELSE 0 END, 1), ended.attempt,
  coalesce(last.step, 0), coalesce(last.total_step, 0),
  CASE ended.state WHEN 'completed' THEN 'completed' ELSE 'error' END,
  CASE ended.state WHEN 'completed' THEN '' ELSE coalesce(ended.error, ended.state) END,
  ended.updated_at, true, (SELECT o.webhook_url FROM task_options AS o WHERE o.task_id = ended.id)
FROM {ended} AS ended {_LAST[dialect]}
WHERE {which}ended.state IN ('completed', 'failed', 'cancelled')"""


_BEFORE = "(SELECT {} FROM progress_log WHERE task_id = :id ORDER BY position DESC LIMIT 1)"
# the same for the task `:id` that has just been completed in its `:attempt`
# subtle: as VALUES, since an INSERT ... SELECT that reads the table it writes to goes through a temporary one each time
COMPLETED_ON_SQLITE = f"""INSERT INTO progress_log (task_id, run, attempt, step, total_step, status, message, time, terminal, webhook_url)
VALUES (:id, coalesce({_BEFORE.format("run + terminal")}, 1), :attempt, coalesce({_BEFORE.format("step")}, 0),
  coalesce({_BEFORE.format("total_step")}, 0), 'completed', '', (SELECT updated_at FROM tasks WHERE id = :id), true,
  (SELECT webhook_url FROM task_options WHERE task_id = :id))"""
# the same for the task `:id` that has just been parked: its story goes on
_QUESTION = {
    dialect: text(f"""INSERT INTO progress_log (task_id, run, attempt, step, total_step, status, message, tool, time)
SELECT ended.id, coalesce(last.run + CASE WHEN last.terminal THEN 1 ELSE 0 END, 1), ended.attempt,
  CASE WHEN last.terminal THEN 0 ELSE coalesce(last.step, 0) END, CASE WHEN last.terminal THEN 0 ELSE coalesce(last.total_step, 0) END,
  'thinking', :question, '{PERSON}', ended.updated_at
FROM tasks AS ended {last} WHERE ended.id = :id""")
    for dialect, last in _LAST.items()
}
_END = {dialect: text(f"{end_sql(dialect, 'tasks')} RETURNING position") for dialect in _LAST}


class Fence(Protocol):
    """Who may speak for a task: the worker and the attempt that hold its lease."""

    @property
    def task_id(self) -> str: ...
    @property
    def worker_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...


@dataclass(frozen=True)
class _Owner:
    worker_id: str | None
    attempt: int
    state: TaskState


def append_end(connection: Connection, task_id: str) -> None:
    """Append the one terminal event of a task that this transaction has just brought to its end."""
    if len(connection.execute(_END[connection.dialect.name], {"id": task_id}).all()) != 1:
        raise InvalidTransition(f"task {task_id} has not ended")


def append_question(connection: Connection, task_id: str, question: str) -> None:
    """Append what a task asks that this transaction has just parked."""
    connection.execute(_QUESTION[connection.dialect.name], {"id": task_id, "question": question})


class ProgressLog:
    """Reads and appends. What `after` gives is in order, each with a position from which a reader can go on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def append(self, update: ProgressUpdate, fence: Fence | None = None) -> int:
        """Append an update of a task that has not ended and return its position; with `fence` only for its holder.

        `TaskNotFound`, `StaleLease` (a zombie speaks), `InvalidTransition` (the task has ended), `UnstorableValue`;
        nothing is appended then. A terminal update or a question is a `ValueError`: these come with the change of state.
        """
        if update.terminal:
            raise ValueError(f"{update} is terminal: complete, fail or cancel the task, which writes its last event")
        if update.waiting:
            raise ValueError(f"{update} asks a person: park the task, which writes the question")
        values = {name: plain_text(name, getattr(update, name)) for name in ("task_id", "message", "tool", "status")}
        with writing(self._engine) as connection:
            owner = _locked(connection, update.task_id)
            if fence is not None and (fence.worker_id, fence.attempt, TaskState.RUNNING) != (
                owner.worker_id, owner.attempt, owner.state,
            ):  # fmt: skip
                raise StaleLease(f"attempt {fence.attempt} of task {update.task_id} is no longer the one that runs")
            if owner.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED):
                raise InvalidTransition(f"task {update.task_id} has {owner.state}: nothing can be appended")
            written = insert(progress_log).values(
                **values, attempt=owner.attempt, step=update.step, total_step=update.total_step,
                time=update.time or db_now(), run=_run(connection, update.task_id),
            )  # fmt: skip
            return int(connection.execute(written.returning(_log.position)).scalar_one())

    def exists(self, task_id: str) -> bool:
        """Whether there is such a task, with or without events."""
        task_id = plain_text("task_id", task_id)
        with reading(self._engine) as connection:
            return connection.scalar(select(tasks.c.id).where(tasks.c.id == task_id)) is not None

    def after(self, task_id: str, position: int = 0) -> list[tuple[int, ProgressUpdate]]:
        """The events of the newest run behind `position`, oldest first; nothing for an unknown task."""
        task_id = plain_text("task_id", task_id)
        with reading(self._engine) as connection:
            state = connection.scalar(select(tasks.c.state).where(tasks.c.id == task_id))
            ended = state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
            run = max(1, _run(connection, task_id) - ended)
            chosen = select(progress_log).where(_log.task_id == task_id, _log.run == run, _log.position > position)
            return updates(connection.execute(chosen.order_by(_log.position)).all())

    def history(self, task_id: str) -> list[tuple[int, ProgressUpdate]]:
        """The events of all runs, oldest first."""
        task_id = plain_text("task_id", task_id)
        with reading(self._engine) as connection:
            chosen = select(progress_log).where(_log.task_id == task_id).order_by(_log.position)
            return updates(connection.execute(chosen).all())

    def __repr__(self) -> str:
        return f"<ProgressLog {shown(self._engine)}>"


def _locked(connection: Connection, task_id: str) -> _Owner:
    """The row under which the events of a task follow each other; held until the transaction ends."""
    found = select(tasks.c.worker_id, tasks.c.attempt, tasks.c.state).where(tasks.c.id == task_id)
    row = connection.execute(found.with_for_update()).first()
    if row is None:
        raise TaskNotFound(f"there is no task {task_id!r}")
    return _Owner(row.worker_id, row.attempt, TaskState(row.state))


def _run(connection: Connection, task_id: str) -> int:
    """The number of the run that is under way: each end of the task began the next one."""
    ends = select(func.count()).select_from(progress_log).where(_log.task_id == task_id, _log.terminal)
    return 1 + connection.execute(ends).scalar_one()


def updates(rows: Sequence[Any]) -> list[tuple[int, ProgressUpdate]]:
    """Rows of the log as positions and updates."""
    names = ProgressUpdate.model_fields
    return [(row.position, ProgressUpdate(**{name: getattr(row, name) for name in names})) for row in rows]
