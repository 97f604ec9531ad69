# right: the write lock first on SQLite, a skipped row lock on PostgreSQL; then look, then take
from dataclasses import replace

from sqlalchemy import select, update

from labkit import TaskState, write_transaction
from labkit.tables import task_from_row, tasks


def due(now):
    return (tasks.c.state == TaskState.PENDING) & (tasks.c.available_at <= now)


def claim(engine, worker_id, now):
    with write_transaction(engine) as connection:
        best = (
            select(tasks)
            .where(due(now))
            .order_by(-tasks.c.priority, tasks.c.created_at, tasks.c.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        found = connection.execute(best).first()
        if found is None:
            return None
        task = replace(
            task_from_row(found),
            state=TaskState.RUNNING,
            worker_id=worker_id,
            attempt=found.attempt + 1,
            updated_at=now,
        )
        connection.execute(
            update(tasks)
            .where(tasks.c.id == task.id)
            .values(state=task.state, worker_id=worker_id, attempt=task.attempt, updated_at=now)
        )
        return task
