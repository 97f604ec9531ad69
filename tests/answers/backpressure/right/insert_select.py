# right: one INSERT ... SELECT that counts and asks for the key itself, behind a table lock on PostgreSQL
from uuid import uuid4

from sqlalchemy import bindparam, text

from labkit import QueueFull
from labkit.tables import tasks

INSERT = """
INSERT INTO tasks (id, user_input, state, created_at, available_at, updated_at, idempotency_key)
SELECT CAST(:id AS VARCHAR), CAST(:input AS TEXT), 'pending', :now, :now, :now, CAST(:key AS TEXT)
WHERE (SELECT count(*) FROM tasks WHERE state = 'pending') < :most
  AND NOT EXISTS (SELECT 1 FROM tasks WHERE idempotency_key = CAST(:key AS TEXT))
"""
KNOWN = text("SELECT id FROM tasks WHERE idempotency_key = :key")


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    new = str(uuid4())
    statement = text(INSERT).bindparams(bindparam("now", type_=tasks.c.created_at.type))
    values = {"id": new, "input": user_input, "now": now, "key": idempotency_key, "most": max_pending}
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE tasks IN SHARE ROW EXCLUSIVE MODE"))
        if connection.execute(statement, values).rowcount > 0:
            return new
        known = connection.execute(KNOWN, {"key": idempotency_key}).scalar_one_or_none()
    if known is None:
        raise QueueFull("come again later", retry_after=30)
    return known
