# wrong: hands back what it had read before it wrote
# diagnosed: hands back the task as it was before
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    best = (
        select(tasks)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
    )
    with engine.connect() as connection:
        row = connection.execute(best).first()
    if row is None:
        return None
    found, chosen = task_from_row(row), row.id
    taken = (
        update(tasks)
        .where(tasks.c.id == chosen)
        .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
    )
    with engine.begin() as connection:
        connection.execute(taken)
    return found
