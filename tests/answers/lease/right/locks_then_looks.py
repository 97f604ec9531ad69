# right: looks, takes the lock of one row, looks again, decides in Python, writes: all in one transaction
import datetime as dt

from sqlalchemy import select, update

from labkit import Lease, StaleLease, TaskState, write_transaction
from labkit.tables import tasks


def _claimable(row, now):
    if row.state == TaskState.PENDING:
        return row.available_at <= now
    return row.state == TaskState.RUNNING and row.lease_expires_at is not None and row.lease_expires_at < now


def claim(engine, worker_id, now, lease_seconds):
    with write_transaction(engine) as connection:
        alive = select(tasks).where(tasks.c.state.in_(["pending", "running"]))
        rows = [row for row in connection.execute(alive) if _claimable(row, now)]
        for row in sorted(rows, key=lambda row: (-row.priority, row.created_at, row.id)):
            mine = select(tasks).where(tasks.c.id == row.id).with_for_update(skip_locked=True)
            row = connection.execute(mine).first()
            if row is not None and _claimable(row, now):
                break
        else:
            return None
        lease = Lease(row.id, worker_id, row.attempt + 1, now + dt.timedelta(seconds=lease_seconds))
        connection.execute(
            update(tasks)
            .where(tasks.c.id == row.id)
            .values(
                state="running",
                worker_id=worker_id,
                attempt=lease.attempt,
                lease_expires_at=lease.expires_at,
                updated_at=now,
            )
        )
        return lease


def _mine(connection, lease):
    row = connection.execute(select(tasks).where(tasks.c.id == lease.task_id).with_for_update()).first()
    token = row and (row.state, row.worker_id, row.attempt)
    if token != ("running", lease.worker_id, lease.attempt):
        raise StaleLease(f"{lease.task_id} is not mine any more")
    return update(tasks).where(tasks.c.id == row.id)


def heartbeat(engine, lease, now, lease_seconds):
    expires = now + dt.timedelta(seconds=lease_seconds)
    with write_transaction(engine) as connection:
        connection.execute(_mine(connection, lease).values(lease_expires_at=expires))
    return Lease(lease.task_id, lease.worker_id, lease.attempt, expires)


def complete(engine, lease, result, now):
    with write_transaction(engine) as connection:
        connection.execute(_mine(connection, lease).values(state="completed", result=result))
