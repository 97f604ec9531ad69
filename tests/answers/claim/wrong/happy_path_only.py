# wrong: takes the best row for free and does not ask whether it was
# diagnosed: does not look whether its own UPDATE
from dataclasses import replace

from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    best = (
        select(tasks.c.id)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
    )
    with engine.connect() as connection:
        chosen = connection.scalar(best)
    if chosen is None:
        return None
    release = update(tasks).where(tasks.c.id == chosen, tasks.c.state == "pending").values(worker_id=None)
    taken = (
        update(tasks)
        .where(tasks.c.id == chosen, tasks.c.worker_id.is_(None))
        .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
    )
    with engine.begin() as connection:
        connection.execute(release)
        connection.execute(taken)
        row = connection.execute(select(tasks).where(tasks.c.id == chosen)).one()
        return replace(task_from_row(row), worker_id=worker_id)
