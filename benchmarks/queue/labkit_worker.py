"""labkit: `two` claims and completes, each its own commit; `fused` completes and claims the next in one; `worker` is a `Worker`."""

from __future__ import annotations

import sys

from sqlalchemy import insert, text
from worker import play

from labkit.database import open_engine
from labkit.queue import Lease, TaskQueue, Worker
from labkit.queue.commit import keeping
from labkit.tables import create_tables, task_options, tasks


def fill(url: str, count: int) -> None:
    engine = open_engine(url)
    create_tables(engine)
    ids = [f"{n:08}" for n in range(count)]
    with engine.begin() as connection:
        connection.execute(insert(tasks), [{"id": i, "user_input": "x"} for i in ids])
        connection.execute(insert(task_options), [{"task_id": i} for i in ids])
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def two(queue: TaskQueue, name: str) -> None:
    while (task := queue.claim(name)) is not None:
        queue.complete(Lease.of(task), "done")


def fused(queue: TaskQueue, name: str) -> None:
    task = queue.claim(name)
    while task is not None:
        _, task = queue.complete_and_claim(Lease.of(task), "done")


def work(url: str, name: str, most: int) -> None:
    engine = open_engine(url)
    queue = TaskQueue(engine)
    with keeping(engine):
        if HOW == "worker":
            Worker(queue, lambda job: "done", name).run_until_idle()
        else:
            {"two": two, "fused": fused}[HOW](queue, name)
    engine.dispose()


HOW = sys.argv.pop()
play(fill, work)
