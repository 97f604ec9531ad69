"""Each end of a task with a webhook becomes one delivery that keeps its id and its bytes, whoever notices it and when."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event, insert, select, text

from labkit.clock import VirtualClock
from labkit.errors import UnstorableValue
from labkit.queue import Lease, TaskQueue
from labkit.tables import progress_log, task_options, tasks, webhook_deliveries
from labkit.webhook import deliveries
from labkit.webhook.outbox import _UNTOLD, FAILED, PENDING, claim, collect, delivery_id, settle
from tests.webhook.helpers import Hooks, Told


@pytest.fixture
def hooks(engine: Engine, clock: VirtualClock) -> Hooks:
    return Hooks(engine, clock, Told())


def bodies(hooks: Hooks, task_id: str) -> list[dict[str, Any]]:
    return [json.loads(delivery.body) for delivery in hooks.of(task_id)]


def end(hooks: Hooks, how: str) -> str:
    """A task with a webhook that ends this way."""
    if how == "cancelled before it began":
        task_id = hooks.queue.submit("deploy shop", webhook_url="http://hook.example/a")
        return hooks.queue.cancel(task_id, "no longer").id
    lease = hooks.claimed(max_attempts=1)
    if how == "completed":
        return hooks.queue.complete(lease, "größer 🚀").id
    if how == "completed with the next":
        return hooks.queue.complete_and_claim(lease, "größer 🚀")[0].id
    if how == "completed in a batch":
        hooks.queue.complete_many([(lease, "größer 🚀")])
        return lease.task_id
    if how == "failed":
        return hooks.queue.fail(lease, "no disk").id
    if how == "cancelled":
        return hooks.queue.cancel(lease.task_id, "no longer").id
    hooks.clock.sleep(61)
    return hooks.queue.bury()[0].id


@pytest.mark.parametrize(
    ("how", "state", "result", "error"),
    [
        ("completed", "completed", "größer 🚀", None),
        ("completed with the next", "completed", "größer 🚀", None),
        ("completed in a batch", "completed", "größer 🚀", None),
        ("failed", "failed", None, "no disk"),
        ("cancelled", "cancelled", None, "no longer"),
        ("cancelled before it began", "cancelled", None, "no longer"),
        ("buried", "failed", None, "lease expired x1"),
    ],
)
def test_every_end(hooks: Hooks, how: str, state: str, result: str | None, error: str | None) -> None:
    """However a task ends, there is one delivery with the task as JSON in that state."""
    task_id = end(hooks, how)
    assert 1 == collect(hooks.engine, hooks.clock.now())
    (told,), task = bodies(hooks, task_id), hooks.queue.get(task_id)
    assert (task_id, state, result, error, 1) == (told["id"], told["state"], told["result"], told["error"], told["run"])
    assert {name: getattr(value, "isoformat", lambda v=value: v)() for name, value in vars(task).items()} | {"run": 1} == told
    assert (PENDING, 0, hooks.clock.now(), "http://hook.example/a") == (
        (only := hooks.only(task_id)).state, only.attempt, only.due_at, only.url,
    )  # fmt: skip


def test_nobody_to_tell(hooks: Hooks) -> None:
    """Without a webhook there is no delivery, nor for an attempt that goes on; a task that was inserted by hand has none."""
    hooks.completed(None)
    hooks.queue.fail(hooks.claimed(), "once more", retry_in=5.0)
    with hooks.engine.begin() as connection:
        connection.execute(insert(tasks).values(id="by hand", user_input="x", available_at=hooks.clock.now(), priority=9))
    lease = Lease.of(hooks.queue.claim("w1"))  # type: ignore[arg-type]
    assert "by hand" == hooks.queue.complete(lease, "x").id
    assert (0, []) == (collect(hooks.engine), hooks.of("by hand"))


def test_once_whoever_looks(hooks: Hooks) -> None:
    """Looking again, by anybody, adds nothing and changes nothing."""
    task_id = hooks.completed()
    first = [collect(hooks.engine, hooks.clock.now()), hooks.only(task_id)]
    hooks.clock.sleep(5)
    assert [0, first[1]] == [collect(hooks.engine, hooks.clock.now()), hooks.only(task_id)]


def test_more_than_one_transaction_holds(hooks: Hooks) -> None:
    """Many ends at once are all written."""
    made = {hooks.completed(result=str(number)) for number in range(25)}
    assert 25 == collect(hooks.engine)
    assert made == {hooks.only(task_id).task_id for task_id in made}


@pytest.mark.parametrize("late", [False, True])
def test_one_for_each_run(hooks: Hooks, late: bool) -> None:
    """A task that failed twice and was redriven has one delivery per run, each with the state of that run, however late they are written."""
    task_id = hooks.queue.fail(hooks.claimed(), "first").id
    for error in ("second", None):
        if not late:
            collect(hooks.engine)
        hooks.clock.sleep(60)
        hooks.queue.redrive(task_id)
        lease = Lease.of(hooks.queue.claim("w1"))  # type: ignore[arg-type]
        if error:
            hooks.queue.fail(lease, error)
        else:
            hooks.queue.complete(lease, "up")
    collect(hooks.engine)
    told = bodies(hooks, task_id)
    facts = [(t["run"], t["state"], t["error"], t["result"], t["attempt"]) for t in told]
    assert [(1, "failed", "first", None, 1), (2, "failed", "second", None, 2), (3, "completed", None, "up", 3)] == facts
    assert 3 == len({t["updated_at"] for t in told}) == len({d.id for d in hooks.of(task_id)})


@pytest.mark.parametrize("state", ["pending", "running", "cancelled"])
def test_a_failure_is_told_as_one(hooks: Hooks, state: str) -> None:
    """A failed run that was put back to work before anybody looked is told as failed, not as what the task is by now."""
    task_id = hooks.queue.fail(hooks.claimed(), "first").id
    hooks.queue.redrive(task_id)
    if state == "running":
        hooks.queue.claim("w1")
    if state == "cancelled":
        hooks.queue.cancel(task_id, "no longer")
    collect(hooks.engine)
    told = bodies(hooks, task_id)
    assert [("failed", "first"), ("cancelled", "no longer")][: len(told)] == [(t["state"], t["error"]) for t in told]
    assert (1 + (state == "cancelled"), None, None) == (len(told), told[0]["worker_id"], told[0]["lease_expires_at"])


def test_another_webhook_for_the_next_run(hooks: Hooks) -> None:
    """Submitted again under its key with another webhook, or with none, a failed task tells each run's end where that run was to be told."""
    task_id = hooks.queue.fail(hooks.claimed("http://hook.example/1", idempotency_key="k"), "no").id
    hooks.queue.fail(hooks.claimed("http://hook.example/2", idempotency_key="k"), "no")
    hooks.queue.complete(hooks.claimed(None, idempotency_key="k"), "up")
    collect(hooks.engine)
    assert [(1, "http://hook.example/1"), (2, "http://hook.example/2")] == [(d.run, d.url) for d in hooks.of(task_id)]


def test_the_end_and_its_note_are_one(hooks: Hooks) -> None:
    """An end that was rolled back is told to nobody."""
    lease = hooks.claimed()
    with pytest.raises(UnstorableValue):
        hooks.queue.complete(lease, "\x00")
    assert 0 == collect(hooks.engine)


def test_a_task_that_is_gone(hooks: Hooks) -> None:
    """A deleted task has no end to tell, and does not keep the others from theirs."""
    gone, there = hooks.completed(), hooks.completed()
    with hooks.engine.begin() as connection:
        connection.execute(delete(tasks).where(tasks.c.id == gone))
    collect(hooks.engine)
    assert (0, [], 1) == (collect(hooks.engine), hooks.of(gone), len(hooks.of(there)))


def test_ids() -> None:
    """An id is one line of plain letters, the same each time, and another one for another task or run."""
    names = [("a", 1), ("a", 11), ("1 a", 1), ("a", 2), ("größer\n🚀", 1), ("b", 1)]
    ids = [delivery_id(*name) for name in names]
    assert (len(names), {32}, True) == (len(set(ids)), {len(i) for i in ids}, all(i.isalnum() and i.isascii() for i in ids))
    assert ids == [delivery_id(*name) for name in names]


def test_claims(hooks: Hooks) -> None:
    """One that is due longest is handed to one holder until its lease is over; a holder that comes later changes nothing."""
    first = hooks.completed()
    collect(hooks.engine, hooks.clock.now())
    hooks.clock.sleep(1)
    second = hooks.completed()
    collect(hooks.engine, hooks.clock.now())
    a, b, none = [claim(hooks.engine, lease, hooks.clock.now()) for lease in (60.0, 61.0, 60.0)]
    assert a is not None
    assert b is not None
    assert (first, second, None) == (a.task_id, b.task_id, none)
    assert hooks.only(first) == a
    hooks.clock.sleep(62)
    again = claim(hooks.engine, 60.0, hooks.clock.now())
    assert again is not None
    assert (first, a.body, a.version + 1, 0) == (again.task_id, again.body, again.version, again.attempt)
    assert not settle(hooks.engine, a, FAILED, error="late", now=hooks.clock.now())
    assert again == hooks.only(first)
    assert settle(hooks.engine, b, FAILED, error="over, though nobody took it", now=hooks.clock.now())
    assert not settle(hooks.engine, hooks.only(second), PENDING, now=hooks.clock.now())
    assert claim(hooks.engine, 60.0, hooks.clock.now()) is None


def test_times_of_the_database(engine: Engine) -> None:
    """Without a clock of ours the database's own is taken."""
    queue = TaskQueue(engine)
    task_id = queue.submit("x", webhook_url="http://hook.example/")
    queue.complete(Lease.of(queue.claim("w1")), "up")  # type: ignore[arg-type]
    collect(engine)
    held = claim(engine, 60.0)
    assert held is not None
    assert 59 < (held.due_at - held.created_at).total_seconds() < 300
    assert settle(engine, held, PENDING, wait=3_600.0, error="no\x00\ud800" + "x" * 10_000)
    (stored,) = deliveries(engine, task_id)
    assert stored.last_error is not None
    assert (1, True, 500) == (stored.attempt, stored.last_error.startswith("no\\u0000\\ud800x"), len(stored.last_error))
    assert claim(engine, 60.0) is None
    assert repr(stored).startswith(f"<Delivery {stored.id} of {task_id} run=1 pending attempt=1 no")


def test_looking_is_cheap(hooks: Hooks) -> None:
    """Nobody who finds nothing takes the write lock, and nothing but the small index is read."""
    seen: list[str] = []
    event.listen(hooks.engine, "before_cursor_execute", lambda c, cur, sql, *rest: seen.append(sql))
    collect(hooks.engine)
    assert 1 == len(seen)
    assert "SELECT" in seen[0]


def plan(engine: Engine) -> str:
    sql = str(_UNTOLD.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True}))
    with engine.connect() as connection:
        how = "EXPLAIN" if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
        return "\n".join(str(row) for row in connection.execute(text(f"{how} {sql}")))


@pytest.mark.parametrize("analyzed", [False, True])
def test_the_plan(engine: Engine, analyzed: bool) -> None:
    """Among 3,000 events those to be told are found in an index that holds only them, whatever the statistics say."""
    rows = [{"task_id": f"t{n}", "step": 1, "status": "completed", "terminal": True} for n in range(3_000)]
    with engine.begin() as connection:
        connection.execute(insert(progress_log), rows)
    if analyzed:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE"))
    assert "progress_untold" in plan(engine), plan(engine)


def test_old_options_are_not_read_again(hooks: Hooks) -> None:
    """The end says where it is to be told: options that change afterwards change nothing."""
    task_id = hooks.completed("http://hook.example/then")
    with hooks.engine.begin() as connection:
        connection.execute(task_options.update().values(webhook_url="http://hook.example/now"))
        assert ["http://hook.example/then"] == list(connection.scalars(select(progress_log.c.webhook_url)))
    collect(hooks.engine)
    assert "http://hook.example/then" == hooks.only(task_id).url
    with hooks.engine.connect() as connection:
        assert [None] == list(connection.scalars(select(progress_log.c.webhook_url)))


def test_the_body_is_written_once(hooks: Hooks) -> None:
    """What the table holds is what is sent: bytes that somebody changes there go out changed, nothing is made anew."""
    send = hooks.deliverer._send = Told()
    task_id = hooks.completed()
    collect(hooks.engine, hooks.clock.now())
    with hooks.engine.begin() as connection:
        connection.execute(webhook_deliveries.update().values(body=b"\x00\xff"))
    hooks.deliver()
    assert [(delivery_id(task_id, 1), "http://hook.example/a", b"\x00\xff")] == send.got


def test_a_long_address_does_no_harm(hooks: Hooks) -> None:
    """An address that no index could hold keeps no task from its end."""
    task_id = hooks.completed(f"http://hook.example/{'a' * 50_000}")
    assert 1 == collect(hooks.engine)
    assert ("completed", 1) == (hooks.queue.get(task_id).state, len(hooks.of(task_id)))
