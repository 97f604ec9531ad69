# wrong: looks with a row lock that SQLite does not have
# diagnosed: looks first and takes later
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks


def claim(engine, worker_id, now):
    best = (
        select(tasks.c.id)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            chosen = connection.scalar(best)
            connection.rollback()
        else:
            chosen = connection.scalar(best)
        if chosen is None:
            return None
        taken = (
            update(tasks)
            .where(tasks.c.id == chosen)
            .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
            .returning(*tasks.c)
        )
        row = connection.execute(taken).one()
        connection.commit()
    return task_from_row(row)
