# wrong: cuts now to whole seconds: what has just become due waits
# diagnosed: a time is cut to whole seconds
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    now = now.replace(microsecond=0)
    best = (
        select(tasks.c.id)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = (
        update(tasks)
        .where(tasks.c.id == best.scalar_subquery())
        .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
        .returning(*tasks.c)
    )
    with engine.begin() as connection:
        row = connection.execute(taken).one_or_none()
    return None if row is None else task_from_row(row)
