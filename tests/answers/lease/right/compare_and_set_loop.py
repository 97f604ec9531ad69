# right: no lock; the attempt is compared and set, and whoever was beaten looks again
from datetime import timedelta

import sqlalchemy as sa

from labkit import Lease, StaleLease
from labkit.tables import tasks as t


def best(connection, now):
    claimable = ((t.c.state == "pending") & (t.c.available_at <= now)) | (
        (t.c.state == "running") & (t.c.lease_expires_at < now)
    )
    order = sa.desc(t.c.priority), t.c.created_at, t.c.id
    return connection.execute(sa.select(t).where(claimable).order_by(*order).limit(1)).one_or_none()


def unchanged(row):
    same = [t.c[name].is_not_distinct_from(row._mapping[name]) for name in ("state", "attempt", "lease_expires_at")]
    return sa.and_(t.c.id == row.id, *same)


def claim(engine, worker_id, now, lease_seconds):
    ends = now + timedelta(seconds=lease_seconds)
    while True:
        with engine.connect() as connection:
            row = best(connection, now)
        if row is None:
            return None
        new = {"state": "running", "worker_id": worker_id, "attempt": row.attempt + 1, "updated_at": now}
        with engine.begin() as connection:
            if connection.execute(t.update().where(unchanged(row)).values(new | {"lease_expires_at": ends})).rowcount:
                return Lease(row.id, worker_id, row.attempt + 1, ends)


class Fence:
    def __init__(self, lease):
        self.where = sa.and_(
            t.c.id == lease.task_id,
            t.c.state == "running",
            sa.tuple_(t.c.worker_id, t.c.attempt) == (lease.worker_id, lease.attempt),
        )

    def write(self, engine, values):
        with engine.begin() as connection:
            if connection.execute(t.update().where(self.where).values(values)).rowcount != 1:
                raise StaleLease


def heartbeat(engine, lease, now, lease_seconds):
    ends = now + timedelta(seconds=lease_seconds)
    Fence(lease).write(engine, {"lease_expires_at": ends, "updated_at": now})
    return Lease(lease.task_id, lease.worker_id, lease.attempt, ends)


def complete(engine, lease, result, now):
    values = {"state": "completed", "result": result, "updated_at": now, "worker_id": None, "lease_expires_at": None}
    Fence(lease).write(engine, values)
