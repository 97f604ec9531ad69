# right: the ORM; its session works on one connection that holds the write lock
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session, registry

from labkit import Lease, StaleLease, write_transaction
from labkit.tables import tasks


class Job:
    def held_by(self, lease):
        return (self.state, self.worker_id, self.attempt) == ("running", lease.worker_id, lease.attempt)


registry().map_imperatively(Job, tasks)
WAITING = Job.state == "pending"
RUNNING = Job.state == "running"


@contextmanager
def session_on(engine):
    with write_transaction(engine) as connection, Session(bind=connection) as session:
        yield session
        session.flush()


def claim(engine, worker_id, now, lease_seconds):
    with session_on(engine) as session:
        claimable = (WAITING & (Job.available_at <= now)) | (RUNNING & (Job.lease_expires_at < now))
        best = select(Job).where(claimable).order_by(Job.priority.desc(), Job.created_at, Job.id)
        job = session.scalars(best.limit(1).with_for_update(skip_locked=True)).one_or_none()
        if job is None:
            return None
        job.state, job.worker_id, job.attempt = "running", worker_id, job.attempt + 1
        job.updated_at, job.lease_expires_at = now, now + timedelta(seconds=lease_seconds)
        return Lease(job.id, worker_id, job.attempt, job.lease_expires_at)


@contextmanager
def held(engine, lease):
    with session_on(engine) as session:
        job = session.get(Job, lease.task_id, with_for_update=True)
        if job is None or not job.held_by(lease):
            raise StaleLease
        yield job


def heartbeat(engine, lease, now, lease_seconds):
    with held(engine, lease) as job:
        job.updated_at, job.lease_expires_at = now, now + timedelta(seconds=lease_seconds)
        return Lease(lease.task_id, lease.worker_id, lease.attempt, job.lease_expires_at)


def complete(engine, lease, result, now):
    with held(engine, lease) as job:
        job.state, job.result, job.updated_at = "completed", result, now
