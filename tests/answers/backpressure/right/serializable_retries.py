# right: serializable transactions that are tried again when the database refuses them
import secrets
import time

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from labkit import QueueFull
from labkit.tables import tasks


def attempt(engine, row, max_pending):
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as connection, connection.begin():
        key = row["idempotency_key"]
        if key is not None:
            found = connection.scalars(select(tasks.c.id).where(tasks.c.idempotency_key == key)).first()
            if found is not None:
                return found
        if connection.scalar(select(func.count(tasks.c.id)).where(tasks.c.state == "pending")) >= max_pending:
            raise QueueFull(retry_after=5.0)
        connection.execute(tasks.insert().values(row))
        return row["id"]


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    row = {"id": secrets.token_hex(8), "user_input": user_input, "idempotency_key": idempotency_key}
    row |= {"created_at": now, "updated_at": now, "available_at": now}
    for number in range(40):
        try:
            return attempt(engine, row, max_pending)
        except DBAPIError:
            time.sleep(0.01 * number)
    raise QueueFull(retry_after=1.0)
