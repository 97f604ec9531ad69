# wrong: the write lock of SQLite is taken for a lock on PostgreSQL
# diagnosed: right on sqlite only: no row lock
from sqlalchemy import select, update

from labkit import write_transaction
from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    best = (
        select(tasks.c.id)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
    )
    with write_transaction(engine) as connection:
        chosen = connection.scalar(best)
        if chosen is None:
            return None
        taken = (
            update(tasks)
            .where(tasks.c.id == chosen)
            .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
        )
        connection.execute(taken)
        return task_from_row(connection.execute(select(tasks).where(tasks.c.id == chosen)).one())
