# wrong: who has waited longest makes room
# diagnosed: throws a waiting task out
from uuid import uuid4

from sqlalchemy import func, insert, select, text, update

from labkit import QueueFull, write_transaction
from labkit.tables import tasks


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
            oldest = select(tasks.c.id).where(tasks.c.state == "pending").order_by(tasks.c.created_at).limit(1)
            waits = connection.scalar(oldest)
            if waits is None:
                raise QueueFull(retry_after=1.0)
            connection.execute(update(tasks).where(tasks.c.id == waits).values(state="cancelled"))
        times = {"created_at": now, "available_at": now, "updated_at": now}
        task_id = str(uuid4())
        new = {"id": task_id, "user_input": user_input, "idempotency_key": idempotency_key, **times}
        connection.execute(insert(tasks).values(new))
    return task_id
