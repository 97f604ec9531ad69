# wrong: a number below ten thousand: a hundred tasks are enough for two with one id
# diagnosed: an id is too short
from random import randint

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
        new = {"id": str(randint(1, 10**4)), "user_input": user_input, "idempotency_key": idempotency_key}
        connection.execute(insert(tasks).values(new | times))
    return new["id"]
