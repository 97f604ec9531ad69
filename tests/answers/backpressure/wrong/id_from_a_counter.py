# wrong: each process counts its tasks from one
# diagnosed: two tasks get one id
from itertools import count

from sqlalchemy import func, insert, select, text

from labkit import QueueFull, write_transaction
from labkit.tables import tasks

NUMBERS = count(1)


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    with write_transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(21)"))
        if idempotency_key is not None:
            known = connection.scalar(select(tasks.c.id).where(tasks.c.idempotency_key == idempotency_key))
            if known is not None:
                return known
        pending = connection.scalar(select(func.count()).select_from(tasks).where(tasks.c.state == "pending"))
        if pending >= max_pending:
            raise QueueFull(retry_after=1.0)
        times = {"created_at": now, "available_at": now, "updated_at": now}
        task_id = f"task-{next(NUMBERS)}"
        new = {"id": task_id, "user_input": user_input, "idempotency_key": idempotency_key, **times}
        connection.execute(insert(tasks).values(new))
    return task_id
