"""Four claims that look right, each broken in its own way; the tests show each one failing on a fixed order."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Engine, select, text, update

from labkit.tables import tasks

_DUE = (
    select(tasks.c.id)
    .where(tasks.c.state == "pending")
    .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
)


def _running(worker: str, now: datetime) -> dict[str, object]:
    return {"state": "running", "worker_id": worker, "attempt": tasks.c.attempt + 1, "updated_at": now}


def select_then_update(engine: Engine, worker: str, now: datetime) -> list[str]:
    """Look first, take later: both look before either takes."""
    with engine.connect() as connection:
        chosen = connection.execute(_DUE.limit(1)).scalar()
    with engine.begin() as connection:
        connection.execute(update(tasks).where(tasks.c.id == chosen).values(_running(worker, now)))
    return [] if chosen is None else [chosen]


def update_by_id(engine: Engine, worker: str, now: datetime) -> list[str]:
    """One statement, but the outer UPDATE asks for the id alone: who waited for the row takes it all the same."""
    chosen = _DUE.limit(1).scalar_subquery()
    taken = update(tasks).where(tasks.c.id == chosen).values(_running(worker, now)).returning(tasks.c.id)
    with engine.begin() as connection:
        return list(connection.execute(taken).scalars())


def limit_inside_in(engine: Engine, worker: str, now: datetime) -> list[str]:
    """The LIMIT stands in a subquery that the planner may run once for each row that it looks at."""
    skip = "FOR UPDATE SKIP LOCKED" if engine.dialect.name == "postgresql" else ""
    taken = text(
        "UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1 WHERE id IN "
        f"(SELECT id FROM tasks WHERE state = 'pending' ORDER BY priority DESC, created_at, id LIMIT 1 {skip}) RETURNING id"
    )
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":  # the plan that stale statistics lead to
            connection.execute(text("SET LOCAL enable_hashjoin = off"))
            connection.execute(text("SET LOCAL enable_mergejoin = off"))
            connection.execute(text("SET LOCAL enable_hashagg = off"))
            connection.execute(text("SET LOCAL enable_sort = off"))
            connection.execute(text("SET LOCAL enable_material = off"))
        return list(connection.execute(taken, {"worker": worker}).scalars())


def no_lease(engine: Engine, worker: str, now: datetime) -> list[str]:
    """Right between workers, but what a dead one held is never claimed again."""
    lock = _DUE.limit(1).with_for_update(skip_locked=True).cte("chosen")
    if engine.dialect.name == "postgresql":
        lock = lock.prefix_with("MATERIALIZED")
    taken = update(tasks).where(tasks.c.id == select(lock.c.id).scalar_subquery()).values(_running(worker, now))
    with engine.begin() as connection:
        return list(connection.execute(taken.returning(tasks.c.id)).scalars())
