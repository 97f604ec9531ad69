# right: one lock for all claimers on PostgreSQL, the write lock on SQLite: slower, and right
import sqlalchemy as sa

from labkit import write_transaction
from labkit.tables import task_from_row, tasks


class Claimer:
    def __init__(self, engine):
        self.engine = engine

    def lock(self, connection):
        if self.engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(42)"))

    def pick(self, connection, now):
        rows = connection.execute(sa.select(tasks).where(tasks.c.state == "pending")).all()
        due = [row for row in rows if row.available_at <= now]
        return min(due, key=lambda row: (-row.priority, row.created_at, row.id), default=None)

    def take(self, worker_id, now):
        with write_transaction(self.engine) as connection:
            self.lock(connection)
            row = self.pick(connection, now)
            if row is None:
                return None
            change = tasks.update().where(tasks.c.id == row.id)
            change = change.values(state="running", worker_id=worker_id, attempt=row.attempt + 1, updated_at=now)
            return task_from_row(connection.execute(change.returning(tasks)).one())


def claim(engine, worker_id, now):
    return Claimer(engine).take(worker_id, now)
