# wrong: looks first and takes later, and does both in a thread of its own
# diagnosed: looks first and takes later
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks


def _claim(engine, worker_id, now):
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
    taken = (
        update(tasks)
        .where(tasks.c.id == chosen)
        .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
    )
    with engine.begin() as connection:
        connection.execute(taken)
        return task_from_row(connection.execute(select(tasks).where(tasks.c.id == chosen)).one())


def claim(engine, worker_id, now):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_claim, engine, worker_id, now).result()
