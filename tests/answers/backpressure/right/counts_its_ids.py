# right: under one lock, ids that count up, and one query that finds the key and the numbers
from sqlalchemy import case, func, insert, select, text

from labkit import QueueFull, write_transaction
from labkit.tables import tasks


def look(connection, key):
    """(id under the key or None, how many are pending, how many there are)"""
    known = func.max(case((tasks.c.idempotency_key == key, tasks.c.id)))
    pending = func.coalesce(func.sum(case((tasks.c.state == "pending", 1), else_=0)), 0)
    return connection.execute(select(known, pending, func.count())).one()


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    with write_transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE tasks IN SHARE ROW EXCLUSIVE MODE"))
        known, pending, total = look(connection, idempotency_key)
        if idempotency_key is not None and known is not None:
            return known
        if pending >= max_pending:
            raise QueueFull(retry_after=3.0)
        row = {"id": f"task-{total + 1}", "user_input": user_input, "idempotency_key": idempotency_key}
        connection.execute(insert(tasks).values(**row, created_at=now, available_at=now, updated_at=now))
        return row["id"]
