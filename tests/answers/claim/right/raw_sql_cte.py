# right: SQL as text, a CTE that is computed once, and the Task built from the columns it shares
from dataclasses import fields

from sqlalchemy import bindparam, text

from labkit import Task, TaskState
from labkit.tables import tasks

SQL = """
WITH best AS (SELECT id FROM tasks WHERE state = 'pending' AND available_at <= :now
  ORDER BY priority DESC, created_at, id LIMIT 1 {lock})
UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1, updated_at = :now
WHERE id = (SELECT id FROM best) RETURNING *
"""


def claim(engine, worker_id, now):
    lock = "FOR UPDATE SKIP LOCKED" if engine.dialect.name == "postgresql" else ""
    asked = text(SQL.format(lock=lock)).bindparams(bindparam("now", type_=tasks.c.updated_at.type))
    with engine.begin() as connection:
        rows = connection.execute(asked.columns(*tasks.c), {"worker": worker_id, "now": now}).mappings().all()
    for row in rows:
        known = {field.name: row[field.name] for field in fields(Task) if field.name in row}
        return Task(**known | {"state": TaskState(row["state"])})
