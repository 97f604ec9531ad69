"""Tasks in a database, SQLite or PostgreSQL: a save is one UPDATE that holds the whole rule in its WHERE.

The database itself compares version and state while it writes, so two writers cannot both win, from whatever process
they come. A committed save survives the death of the process and of the machine. Only an UPDATE that matched no row
is followed by a read, in the same transaction, to tell the reasons apart. A database locked for too long is
`StoreBusy`, a full disk is `StoreFull`, and nothing was written.

Not handled here: who may work on a task. Between get and save nobody holds it (see `queue` for leases).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Engine, Row, bindparam, func, literal_column, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from labkit.database import busy_is_an_answer, db_now, full_is_an_answer, reading, shown
from labkit.errors import StaleTask
from labkit.store.contract import StepRunner, key_taken, log_written, plain_text, stale, storable
from labkit.tables import task_from_row, tasks
from labkit.task import TRANSITIONS, Task, TaskState, check_transition

_PLAIN = sorted({column.name for column in tasks.c} - {"id", "version", "created_at", "available_at", "updated_at"})
_STAMPS = (tasks.c.created_at, tasks.c.available_at, tasks.c.updated_at, tasks.c.version)


def _or(name: str, fallback: Any) -> Any:
    return func.coalesce(bindparam(f"new_{name}", type_=tasks.c[name].type), fallback, type_=tasks.c[name].type)


def _update_to(state: TaskState) -> Any:
    sources = [old for old, allowed in TRANSITIONS.items() if state in allowed]
    return (
        update(tasks)
        .where(tasks.c.id == bindparam("of_id"), tasks.c.version == bindparam("of_version"))
        .where(tasks.c.state.in_([literal_column(f"'{old}'") for old in sources]))
        .values({name: bindparam(f"new_{name}") for name in _PLAIN})
        .values({name: _or(name, tasks.c[name]) for name in ("created_at", "available_at")})
        .values(version=tasks.c.version + 1, updated_at=db_now())
        .returning(*_STAMPS)
    )


_UPDATE = {state: _update_to(state) for state in TaskState}
_VALUES: dict[str, Any] = (
    {name: bindparam(f"new_{name}") for name in _PLAIN}
    | {"id": bindparam("of_id"), "version": bindparam("of_version", type_=tasks.c.version.type) + 1}
    | {name: _or(name, db_now()) for name in ("created_at", "available_at")}
    | {"updated_at": db_now()}
)
_INSERT: dict[str, Any] = {
    "sqlite": sqlite.insert(tasks).values(_VALUES).on_conflict_do_nothing(index_elements=["id"]).returning(*_STAMPS),
    "postgresql": postgresql.insert(tasks)
    .values(_VALUES)
    .on_conflict_do_nothing(index_elements=["id"])
    .returning(*_STAMPS),
}
_GET = select(tasks).where(tasks.c.id == bindparam("of_id"))
_LOOK = select(tasks.c.version, tasks.c.state).where(tasks.c.id == bindparam("of_id"))
_LIST = select(tasks).where(tasks.c.state == bindparam("of_state")).order_by(tasks.c.created_at, tasks.c.id)


class SqlStore(StepRunner):
    """Tasks in the table `labkit.tables.tasks` of an engine from `labkit.database.open_engine`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, id: str) -> Task | None:
        with reading(self._engine) as connection:
            row = connection.execute(_GET, {"of_id": plain_text("id", id)}).first()
        return None if row is None else task_from_row(row)

    def save(self, task: Task) -> Task:
        task = storable(task)
        values = {f"new_{name}": value for name, value in vars(task).items()}
        values |= {"of_id": task.id, "of_version": task.version}
        try:
            with busy_is_an_answer(), full_is_an_answer(), self._engine.begin() as connection:
                # subtle: the write comes first, so SQLite waits for another writer instead of refusing a stale reader
                row = connection.execute(_UPDATE[task.state], values).first() or self._insert(connection, task, values)
        except IntegrityError as error:
            raise key_taken(task) from error
        created, available, updated, version = row
        after = replace(task, created_at=created, available_at=available, updated_at=updated, version=version)
        return log_written(after)

    def list_by_state(self, state: TaskState) -> list[Task]:
        with reading(self._engine) as connection:
            return [task_from_row(row) for row in connection.execute(_LIST, {"of_state": TaskState(state).value})]

    def _insert(self, connection: Connection, task: Task, values: dict[str, Any]) -> Row[Any]:
        """The UPDATE matched nothing: say why, or insert what is not there yet."""
        stored = connection.execute(_LOOK, {"of_id": task.id}).first()
        if stored is not None:
            if stored.version == task.version:
                check_transition(stored.state, task.state)
            raise stale(task, stored.version)
        row = connection.execute(_INSERT[connection.dialect.name], values).first()
        if row is None:
            raise StaleTask(f"another process inserted task {task.id} at the same time")
        return row

    def __repr__(self) -> str:
        return f"<SqlStore {shown(self._engine)}>"
