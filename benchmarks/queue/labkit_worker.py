"""labkit: `two` claims and completes, each its own commit; `fused` completes and claims the next in one; `worker` is a `Worker`.

`batch` claims so many in one commit and completes them in another; `claims` claims so many, and completes each by itself.
"""

from __future__ import annotations

import sys

from sqlalchemy import insert, text
from worker import play

from labkit.commit import keeping
from labkit.database import open_engine
from labkit.queue import Lease, TaskQueue, Worker
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


def two(queue: TaskQueue, name: str, most: int) -> None:
    while (task := queue.claim(name)) is not None:
        queue.complete(Lease.of(task), "done")


def fused(queue: TaskQueue, name: str, most: int) -> None:
    task = queue.claim(name)
    while task is not None:
        _, task = queue.complete_and_claim(Lease.of(task), "done")


def batch(queue: TaskQueue, name: str, most: int) -> None:
    while found := queue.claim_many(name, most):
        queue.complete_many([(Lease.of(task), "done") for task in found])


def claims(queue: TaskQueue, name: str, most: int) -> None:
    while found := queue.claim_many(name, most):
        for task in found:
            queue.complete(Lease.of(task), "done")


def worker(queue: TaskQueue, name: str, most: int) -> None:
    Worker(queue, lambda job: "done", name).run_until_idle()


def work(url: str, name: str, most: int) -> None:
    engine = open_engine(url)
    queue = TaskQueue(engine)
    with keeping(engine):
        {"two": two, "fused": fused, "batch": batch, "claims": claims, "worker": worker}[HOW](queue, name, most)
    engine.dispose()


HOW = sys.argv.pop()
play(fill, work)
