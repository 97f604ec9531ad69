# right: no lock at all; a compare-and-set on the state, and whoever was beaten looks again
from sqlalchemy import select, update

from labkit.tables import task_from_row, tasks

DUE = select(tasks.c.id).order_by(tasks.c.priority.desc(), tasks.c.created_at.asc(), tasks.c.id.asc())


def claim(engine, worker_id, now):
    while True:
        with engine.connect() as connection:
            best = connection.scalar(DUE.where(tasks.c.state == "pending", tasks.c.available_at <= now).limit(1))
        if best is None:
            return None
        mine = update(tasks).where(tasks.c.id == best, tasks.c.state == "pending")
        mine = mine.values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
        with engine.begin() as connection:
            if connection.execute(mine).rowcount == 1:
                return task_from_row(connection.execute(select(tasks).where(tasks.c.id == best)).one())
