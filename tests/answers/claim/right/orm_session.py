# right: the ORM on one connection that holds the write lock
from sqlalchemy import select
from sqlalchemy.orm import Session, registry

from labkit import Task, write_transaction
from labkit.tables import tasks

mapper = registry()


class Job:
    def as_task(self):
        return Task(**{name: getattr(self, name) for name in Task.__dataclass_fields__})


mapper.map_imperatively(Job, tasks)


def claim(engine, worker_id, now):
    with write_transaction(engine) as connection, Session(bind=connection, expire_on_commit=False) as session:
        best = select(Job).filter_by(state="pending").where(Job.available_at <= now)
        best = best.order_by(Job.priority.desc(), Job.created_at, Job.id).limit(1).with_for_update(skip_locked=True)
        job = session.scalars(best).first()
        if job is None:
            return None
        job.state, job.worker_id, job.updated_at = "running", worker_id, now
        job.attempt += 1
        session.flush()
        return job.as_task()
