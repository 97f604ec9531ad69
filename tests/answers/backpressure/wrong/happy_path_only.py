# wrong: no key, no limit, no lock
# diagnosed: the limit is not looked at
from uuid import uuid4

from sqlalchemy import insert

from labkit import write_transaction
from labkit.tables import tasks


def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    with write_transaction(engine) as connection:
        times = {"created_at": now, "available_at": now, "updated_at": now}
        task_id = str(uuid4())
        new = {"id": task_id, "user_input": user_input, "idempotency_key": idempotency_key, **times}
        connection.execute(insert(tasks).values(new))
    return task_id
