# wrong: the chapter's own statement: no attempt, no priority, no available_at
# diagnosed: takes a task before its time
from sqlalchemy import bindparam, text

from labkit.tables import task_from_row, tasks

SQL = """
UPDATE tasks SET state = 'running', worker_id = :worker, updated_at = :now
WHERE id = (SELECT id FROM tasks WHERE state = 'pending' ORDER BY created_at {lock} LIMIT 1)
RETURNING *
"""


def claim(engine, worker_id, now):
    lock = "FOR UPDATE SKIP LOCKED" if engine.dialect.name == "postgresql" else ""
    sql = text(SQL.replace("{lock} LIMIT 1", f"LIMIT 1 {lock}")).bindparams(
        bindparam("now", type_=tasks.c.updated_at.type)
    )
    with engine.begin() as connection:
        row = connection.execute(sql.columns(*tasks.c), {"worker": worker_id, "now": now}).one_or_none()
    return None if row is None else task_from_row(row)
