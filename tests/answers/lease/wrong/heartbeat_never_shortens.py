# wrong: a heartbeat leaves the end of the lease where it is when the new one is earlier
# diagnosed: a heartbeat never makes a lease shorter
from datetime import timedelta

from sqlalchemy import and_, or_, select, update

from labkit import Lease, StaleLease
from labkit.tables import tasks


def claim(engine, worker_id, now, lease_seconds):
    waiting = and_(tasks.c.state == "pending", tasks.c.available_at <= now)
    left = and_(tasks.c.state == "running", tasks.c.lease_expires_at < now)
    best = (
        select(tasks.c.id)
        .where(or_(waiting, left))
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    ends = now + timedelta(seconds=lease_seconds)
    new = {"state": "running", "worker_id": worker_id, "attempt": tasks.c.attempt + 1}
    taken = update(tasks).where(tasks.c.id == best.scalar_subquery())
    taken = taken.values(**new, lease_expires_at=ends, updated_at=now)
    with engine.begin() as connection:
        row = connection.execute(taken.returning(tasks.c.id, tasks.c.attempt)).one_or_none()
    return None if row is None else Lease(row.id, worker_id, row.attempt, ends)


def heartbeat(engine, lease, now, lease_seconds):
    ends = max(lease.expires_at, now + timedelta(seconds=lease_seconds))
    _write(engine, lease, lease_expires_at=ends, updated_at=now)
    return Lease(lease.task_id, lease.worker_id, lease.attempt, ends)


def complete(engine, lease, result, now):
    _write(engine, lease, state="completed", result=result, updated_at=now)


def _write(engine, lease, **values):
    mine = (
        update(tasks)
        .where(tasks.c.id == lease.task_id, tasks.c.state == "running")
        .where(tasks.c.worker_id == lease.worker_id, tasks.c.attempt == lease.attempt)
        .values(**values)
    )
    with engine.begin() as connection:
        if connection.execute(mine).rowcount == 0:
            raise StaleLease(f"{lease.task_id} is no longer held by {lease.worker_id}")
