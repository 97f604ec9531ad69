# wrong: what takes the row tests its attempt, which a cancel leaves as it is
# diagnosed: undoes a cancel
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    due = (
        select(tasks.c.id, tasks.c.attempt)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
    )
    while True:
        with engine.connect() as connection:
            seen = connection.execute(due).first()
        if seen is None:
            return None
        taken = (
            update(tasks)
            .where(tasks.c.id == seen.id, tasks.c.attempt == seen.attempt)
            .values(state="running", worker_id=worker_id, attempt=seen.attempt + 1, updated_at=now)
            .returning(*tasks.c)
        )
        with engine.begin() as connection:
            row = connection.execute(taken).one_or_none()
        if row is not None:
            return task_from_row(row)
