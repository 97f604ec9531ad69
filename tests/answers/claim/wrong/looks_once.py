# wrong: the list of what is due is read once, when the process starts to claim
# diagnosed: does not look again
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks

DUE = []


def claim(engine, worker_id, now):
    if not DUE:
        due = (
            select(tasks.c.id)
            .where(tasks.c.state == "pending", tasks.c.available_at <= now)
            .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        )
        with engine.connect() as connection:
            DUE.append(connection.execute(due).scalars().all())
    for task_id in DUE[0]:
        taken = (
            update(tasks)
            .where(tasks.c.id == task_id, tasks.c.state == "pending")
            .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
            .returning(*tasks.c)
        )
        with engine.begin() as connection:
            row = connection.execute(taken).one_or_none()
        if row is not None:
            return task_from_row(row)
    return None
