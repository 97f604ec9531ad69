# right: a quick look for the key without any lock, and again inside it; the id is made from the key where there is one
import hashlib
import uuid

import sqlalchemy as sa

from labkit import QueueFull, write_transaction
from labkit.tables import tasks


class Queue:
    def __init__(self, engine, most):
        self.engine, self.most = engine, most

    def known(self, connection, key):
        return None if key is None else connection.scalar(sa.select(tasks.c.id).filter_by(idempotency_key=key))

    def lock(self, connection):
        if connection.dialect.name != "sqlite":
            connection.exec_driver_sql("LOCK TABLE tasks IN EXCLUSIVE MODE")

    def full(self, connection):
        some = sa.select(tasks.c.id).where(tasks.c.state == "pending").limit(self.most)
        return len(connection.execute(some).all()) >= self.most

    def put(self, text, key, now):
        with self.engine.connect() as connection:
            if found := self.known(connection, key):
                return found
        new_id = hashlib.sha256(key.encode()).hexdigest() if key is not None else str(uuid.uuid1())
        with write_transaction(self.engine) as connection:
            self.lock(connection)
            if found := self.known(connection, key):
                return found
            if self.full(connection):
                raise QueueFull(retry_after=0.5)
            row = {"id": new_id, "user_input": text, "idempotency_key": key, "available_at": now, "created_at": now}
            connection.execute(sa.insert(tasks), [row])
        return new_id


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    return Queue(engine, max_pending).put(user_input, idempotency_key, now)
