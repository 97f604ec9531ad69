# right: the ORM on one connection that holds the lock
from uuid import uuid4

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session, registry

from labkit import QueueFull, TaskState, write_transaction
from labkit.tables import tasks


class Job:
    pass


registry().map_imperatively(Job, tasks)


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    with write_transaction(engine) as connection, Session(bind=connection) as session:
        if engine.dialect.name == "postgresql":
            session.execute(text("SELECT pg_advisory_xact_lock(hashtext('submit'))"))
        if idempotency_key is not None:
            job = session.scalars(select(Job).where(Job.idempotency_key == idempotency_key)).one_or_none()
            if job is not None:
                return job.id
        waiting = session.scalar(select(func.count()).select_from(Job).where(Job.state == TaskState.PENDING))
        if not waiting < max_pending:
            raise QueueFull(retry_after=2.5)
        job = Job()
        job.id, job.user_input, job.state = str(uuid4()), user_input, TaskState.PENDING.value
        job.created_at = job.updated_at = job.available_at = now
        job.idempotency_key = idempotency_key
        session.add(job)
        session.flush()
        return job.id
