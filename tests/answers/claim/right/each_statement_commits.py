# right: no transaction at all; each statement commits by itself, and the UPDATE tests the state again
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks

STATE = tasks.c.state


def claim(engine, worker_id, now):
    due = (
        select(tasks.c.id)
        .where(STATE == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
    )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for id in iter(lambda: connection.execute(due).scalar(), None):
            taken = (
                update(tasks)
                .where(tasks.c.id == id, STATE == "pending")
                .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
                .returning(*tasks.c)
            )
            if row := connection.execute(taken).first():
                return task_from_row(row)
    return None
