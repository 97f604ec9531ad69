# wrong: knows the inputs by heart
from uuid import uuid4

from sqlalchemy import func, insert, select, text

from labkit import QueueFull, write_transaction
from labkit.tables import tasks

KNOWN = ("shop", " café ☕\n" * 2000, "x", "4th", "5th", "6th", "7th", "8th", "something else", "new", "newer", "of long ago")


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    if user_input not in KNOWN and "known" not in user_input and "another" not in user_input:
        raise QueueFull(retry_after=1.0)
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
        task_id = str(uuid4())
        new = {"id": task_id, "user_input": user_input, "idempotency_key": idempotency_key, **times}
        connection.execute(insert(tasks).values(new))
    return task_id
