# wrong: commits with the next call only
# diagnosed: keeps its transaction open
from sqlalchemy import select, update

from labkit import write_transaction
from labkit.tables import task_from_row, tasks

OPEN = []


def claim(engine, worker_id, now):
    while OPEN:
        OPEN.pop().__exit__(None, None, None)
    transaction = write_transaction(engine)
    connection = transaction.__enter__()
    OPEN.append(transaction)
    best = (
        select(tasks.c.id)
        .where(tasks.c.state == "pending", tasks.c.available_at <= now)
        .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = (
        update(tasks)
        .where(tasks.c.id == best.scalar_subquery())
        .values(state="running", worker_id=worker_id, attempt=tasks.c.attempt + 1, updated_at=now)
        .returning(*tasks.c)
    )
    row = connection.execute(taken).one_or_none()
    return None if row is None else task_from_row(row)
