# right: reads first and writes later in one transaction, and when that is refused it waits a little and begins anew
from time import sleep

from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError

from labkit.tables import task_from_row, tasks


def attempt(engine, worker_id, now):
    with engine.begin() as connection:
        candidates = (
            select(tasks)
            .where(tasks.c.state == "pending")
            .where(tasks.c.available_at <= now)
            .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
            .with_for_update(skip_locked=True)
            .limit(1)
        )
        for row in connection.execute(candidates).all():
            values = {"state": "running", "worker_id": worker_id, "attempt": row.attempt + 1, "updated_at": now}
            connection.execute(update(tasks).where(tasks.c.id == row.id).values(values))
            return task_from_row({**row._mapping, **values})
    return None


def claim(engine, worker_id, now):
    for number in range(50):
        try:
            return attempt(engine, worker_id, now)
        except DBAPIError:
            sleep(0.01 * (number + 1))
    raise TimeoutError("the database was busy for too long")
