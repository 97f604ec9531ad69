# wrong: pops the row off the queue
# diagnosed: deletes the row
from dataclasses import replace

from sqlalchemy import delete, select

from labkit import TaskState
from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    best = (
        select(tasks.c.id)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    with engine.begin() as connection:
        row = connection.execute(delete(tasks).where(tasks.c.id == best.scalar_subquery()).returning(*tasks.c)).first()
    if row is None:
        return None
    return replace(task_from_row(row), state=TaskState.RUNNING, worker_id=worker_id, attempt=row.attempt + 1)
