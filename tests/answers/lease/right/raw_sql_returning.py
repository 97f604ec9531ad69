# right: SQL as text; a write that returns no row was not ours
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import bindparam, text

from labkit import Lease, StaleLease
from labkit.tables import tasks

TIME = tasks.c.updated_at.type
CLAIM = """
WITH best AS (
  SELECT id FROM tasks
  WHERE state = 'pending' AND available_at <= :now OR state = 'running' AND lease_expires_at < :now
  ORDER BY priority DESC, created_at, id LIMIT 1 {lock})
UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1,
  lease_expires_at = :ends, updated_at = :now
WHERE id = (SELECT id FROM best) RETURNING id, attempt
"""
FENCED = "UPDATE tasks SET {what} WHERE id = :id AND state = 'running' AND (worker_id, attempt) = (:worker, :attempt) RETURNING id"
BEAT = FENCED.format(what="lease_expires_at = :ends")
DONE = FENCED.format(what="state = 'completed', result = :result, lease_expires_at = NULL, updated_at = :now")


def run(engine, sql, **values):
    times = [bindparam(name, type_=TIME) for name in ("now", "ends") if f":{name}" in sql]
    with engine.begin() as connection:
        return connection.execute(text(sql).bindparams(*times), values).first()


def claim(engine, worker_id, now, lease_seconds):
    lock = "" if engine.dialect.name == "sqlite" else "FOR UPDATE SKIP LOCKED"
    ends = now + timedelta(seconds=lease_seconds)
    row = run(engine, CLAIM.format(lock=lock), worker=worker_id, now=now, ends=ends)
    return row and Lease(row.id, worker_id, row.attempt, ends)


def heartbeat(engine, lease, now, lease_seconds):
    ends = now + timedelta(seconds=lease_seconds)
    if not run(engine, BEAT, id=lease.task_id, worker=lease.worker_id, attempt=lease.attempt, ends=ends):
        raise StaleLease(str(lease))
    return replace(lease, expires_at=ends)


def complete(engine, lease, result, now):
    token = {"id": lease.task_id, "worker": lease.worker_id, "attempt": lease.attempt}
    if not run(engine, DONE, **token, result=result, now=now):
        raise StaleLease(str(lease))
