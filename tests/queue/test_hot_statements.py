"""The statements that run thousands of times a second: their plans, and the connection that a worker keeps for them."""

from __future__ import annotations

import re
import sqlite3
from datetime import datetime

import pytest
from sqlalchemy import Engine, event, insert, text
from sqlalchemy.exc import DBAPIError

from labkit.clock import VirtualClock
from labkit.commit import keeping
from labkit.database import open_engine, utc_text
from labkit.errors import StaleLease
from labkit.queue import Lease, TaskQueue, Worker
from labkit.queue.batch import _TOGETHER
from labkit.queue.choose import CLAIM, CLAIM_MANY
from labkit.queue.complete import _BOTH
from labkit.tables import tasks
from tests.queue.helpers import Ticks, taken

CLAIMING, COMPLETING = {"tasks_pending", "tasks_running", "tasks_pkey"}, {"tasks_pkey", "progress_of_task"}


def plan_of(engine: Engine, sql: str) -> str:
    """How PostgreSQL runs a statement whatever its values are."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match.group(1) not in names:
            names.append(match.group(1))
        return f"${names.index(match.group(1)) + 1}"

    numbered = re.sub(r"%\((\w+)\)s", number, sql)
    pooled = engine.raw_connection()
    lines = pooled.driver_connection.execute(f"EXPLAIN (GENERIC_PLAN) {numbered}").fetchall()  # type: ignore[union-attr]
    pooled.close()
    return "\n".join(line for (line,) in lines)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("sql", "indexes"),
    [(CLAIM["postgresql"], CLAIMING), (CLAIM_MANY["postgresql"], CLAIMING), (_BOTH, CLAIMING), (_TOGETHER, COMPLETING)],
    ids=["claim", "claim many", "complete and claim", "complete many"],
)
@pytest.mark.parametrize("analyzed", ["empty", "emptied", "full", "done"])
def test_plans(postgres: Engine, sql: str, indexes: set[str], analyzed: str) -> None:
    """With 10,000 rows each part walks an index, whatever the statistics say; nothing is sorted but the two rows of the answer."""

    def learn() -> None:
        with postgres.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))

    if analyzed == "empty":
        learn()
    if analyzed == "emptied":
        for sql_before in ("INSERT INTO progress_log (task_id, step, status) SELECT 't' || n, 0, 'thinking' FROM generate_series(1, 50) n",
                           "DELETE FROM progress_log"):  # fmt: skip
            with postgres.begin() as connection:
                connection.execute(text(sql_before))
            learn()
        learn()
    with postgres.begin() as connection:
        connection.execute(insert(tasks), [{"id": f"t{n:05}", "user_input": "x", "priority": n % 3} for n in range(10_000)])
        if analyzed == "done":
            connection.execute(text("UPDATE tasks SET state = 'completed'"))
    if analyzed in ("full", "done"):
        learn()
    plan = plan_of(postgres, sql)
    plan = plan.replace("Bitmap Heap Scan on tasks", "").replace("Bitmap Index Scan on", "Index Scan using")  # of several ids
    scans = re.findall(r"(\w+ Scan|\w+ Only Scan)(?: Backward)? using (\w+)", plan)
    walked = {index for _, index in scans}
    assert indexes <= walked <= CLAIMING | {"task_options_pkey", "progress_of_task"}, plan
    assert not re.search(r"Seq Scan|Bitmap|Hash|Incremental", plan), plan
    assert plan.count("Sort Key") == plan.count("Sort Key: (0)"), plan


def test_worker_keeps_a_connection(engine: Engine, clock: VirtualClock) -> None:
    """A worker takes one connection out of the pool and uses it for all its claims and completions."""
    queue, out = TaskQueue(engine, clock=clock, now=clock.now), list[int]()
    for number in range(5):
        queue.submit(str(number))
    event.listen(engine, "checkout", lambda *_: out.append(1))
    counts = []
    for keep in (True, False):
        out.clear()
        worker = Worker(queue, lambda job: "done", "w1", every=Ticks(clock), keep_connection=keep)
        worker.run_until_idle()
        counts.append(len(out))
        for number in range(5):
            queue.submit(str(number))
    assert counts[0] == counts[1] - 6  # a claim, five completions and a last claim share one


@pytest.mark.postgres
def test_broken_connection(postgres_url: str, postgres: Engine) -> None:
    """A kept connection that breaks is told once and replaced by the next call."""
    engine = open_engine(postgres_url, connect_args={"application_name": "kept"})
    queue = TaskQueue(engine)
    queue.submit("deploy")
    with keeping(engine):
        lease = taken(queue)
        with postgres.begin() as connection:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kept' AND datname = current_database()")
            )
        with pytest.raises(DBAPIError):
            queue.complete(lease, "done")
        engine.dispose()
        assert "done" == queue.complete(lease, "done").result
    engine.dispose()


def test_adapters_of_others(sqlite: Engine, clock: VirtualClock) -> None:
    """Times are stored in our form, and compared rightly, also where another module told the driver another form."""
    queue = TaskQueue(sqlite, clock=clock, now=clock.now)
    sqlite3.register_adapter(datetime, datetime.isoformat)
    try:
        for number in range(3):
            queue.submit(str(number))
        first = taken(queue)
        again = queue.complete_and_claim(queue.heartbeat(first), "done")[1]
        assert again is not None
        assert [again] == [queue.get(again.id)]
        queue.complete_many([(Lease.of(task), "done") for task in queue.claim_many("w2")])
        assert queue.claim("w2") is None
    finally:
        sqlite3.register_adapter(datetime, utc_text)
    with sqlite.connect() as connection:
        stored = connection.execute(text("SELECT updated_at, lease_expires_at FROM tasks UNION SELECT time, time FROM progress_log")).all()
    assert {False} == {"T" in (stamp or "") for row in stored for stamp in row}


def test_refusal_leaves_the_connection_fit(queue: TaskQueue) -> None:
    """A refused write rolls back, and the kept connection goes on."""
    queue.submit("deploy")
    with keeping(queue.engine):
        lease = taken(queue)
        with pytest.raises(StaleLease):
            queue.complete(Lease(lease.task_id, "other", 1, lease.expires_at), "zombie")
        assert "done" == queue.complete(lease, "done").result
        with keeping(queue.engine):  # twice is once
            assert queue.claim("w1") is None
