# wrong: the input is cut after a thousand characters
# diagnosed: the input is not stored as it was given
from uuid import uuid4

from sqlalchemy import func, insert, select, text

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
            raise QueueFull(retry_after=1.0)
        times = {"created_at": now, "available_at": now, "updated_at": now}
        new = {"id": str(uuid4()), "user_input": user_input[:1000], "idempotency_key": idempotency_key}
        connection.execute(insert(tasks).values(new | times))
    return new["id"]
