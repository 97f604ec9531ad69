# right: tries one candidate after the other and does not wait for a row that another is taking
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from labkit.tables import task_from_row, tasks

BEST_FIRST = (tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)


def take(engine, task_id, worker_id, now):
    free = (tasks.c.id == task_id) & (tasks.c.state == "pending")
    with engine.begin() as connection:
        locked = select(tasks.c.id).where(free).with_for_update(nowait=True)
        if connection.dialect.name == "postgresql" and connection.execute(locked).first() is None:
            return None
        change = update(tasks).where(free)
        change = change.values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
        return connection.execute(change.returning(*tasks.c)).first()


def claim(engine, worker_id, now):
    with engine.connect() as connection:
        due = select(tasks.c.id).where(tasks.c.state == "pending", tasks.c.available_at <= now)
        candidates = connection.scalars(due.order_by(*BEST_FIRST)).all()
    for task_id in candidates:
        try:
            row = take(engine, task_id, worker_id, now)
        except OperationalError:
            continue
        if row is not None:
            return task_from_row(row)
    return None
