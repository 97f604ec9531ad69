"""Old deliveries are removed: by age, by count, and never one that its receiver does not have."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, insert, text

from labkit.clock import VirtualClock
from labkit.faults import End, Scenario, interleave, sweep
from labkit.faults.process import Process
from labkit.tables import webhook_deliveries
from labkit.webhook import Keep, prune
from labkit.webhook.deliver import LEASE_SECONDS, PRUNE_SECONDS
from labkit.webhook.outbox import claim, collect
from tests.webhook.helpers import Hooks, Told
from tests.webhook.test_crashes import DATABASES, all_written, deliverer, finish, same_bytes

NOTHING = Keep(max_age=0.0, max_count=0)  # is kept that may go


@pytest.fixture
def hooks(engine: Engine, clock: VirtualClock) -> Hooks:
    return Hooks(engine, clock, Told())


def states(hooks: Hooks, *task_ids: str) -> list[str | None]:
    return [hooks.only_state(task_id) for task_id in task_ids]


def test_by_age(hooks: Hooks) -> None:
    """What was received longer ago than it is kept goes; one exactly that old stays; without an age all stay."""
    first = hooks.completed()
    hooks.deliverer.run_once()
    hooks.clock.sleep(1)
    second = hooks.completed()
    hooks.deliverer.run_once()
    hooks.clock.sleep(100)
    assert 0 == prune(hooks.engine, Keep(max_age=None, max_count=None), hooks.clock.now())
    assert 1 == prune(hooks.engine, Keep(max_age=100.0), hooks.clock.now())
    assert [None, "delivered"] == states(hooks, first, second)


@pytest.mark.parametrize(("kept", "left"), [(3, 3), (2, 2), (0, 0)])
def test_by_count(hooks: Hooks, kept: int, left: int) -> None:
    """The newest ones stay, by when they were received; of those at one instant so many, whichever."""
    made = []
    for _ in range(3):
        made.append(hooks.completed())
        hooks.deliverer.run_once()
        hooks.clock.sleep(1)
    assert 3 - left == prune(hooks.engine, Keep(max_count=kept), hooks.clock.now())
    assert [None] * (3 - left) + ["delivered"] * left == states(hooks, *made)
    with hooks.engine.begin() as connection:
        connection.execute(webhook_deliveries.update().values(updated_at=hooks.clock.now()))
    assert max(0, left - 1) == prune(hooks.engine, Keep(max_count=1), hooks.clock.now())


def test_never_what_is_not_received(engine: Engine, clock: VirtualClock) -> None:
    """However old it is: one that is due, one that waits for its next attempt, one that somebody is sending, and one that failed for good."""
    hooks = Hooks(engine, clock, Told(503, 410, 200))
    waits, failed, received, held, due = [hooks.completed(url) for url in ["http://hook.example/a"] * 5]
    collect(engine, clock.now())
    for _ in range(3):
        taken = claim(engine, LEASE_SECONDS, clock.now())
        assert taken is not None
        hooks.deliverer._attempt(taken)
    assert claim(engine, 10**9, clock.now()) is not None
    before = sorted(str(state) for state in states(hooks, waits, failed, received, held, due))
    clock.sleep(10**8)
    assert 1 == prune(engine, NOTHING, clock.now())
    after = sorted(str(state) for state in states(hooks, waits, failed, received, held, due))
    assert (["delivered", "failed", "pending", "pending", "pending"], ["None", "failed", "pending", "pending", "pending"]) == (before, after)
    assert 1 == prune(engine, Keep(failed_max_age=60.0), clock.now())


def test_what_is_gone_stays_gone(hooks: Hooks) -> None:
    """A delivery that was removed is not made again; the next run of its task has one of its own, under another id."""
    task_id = hooks.queue.fail(hooks.claimed(), "no disk").id
    hooks.deliverer.run_once()
    hooks.clock.sleep(1)
    assert 1 == prune(hooks.engine, NOTHING, hooks.clock.now())
    assert (0, 0, None) == (collect(hooks.engine, hooks.clock.now()), hooks.deliverer.run_once(), hooks.only_state(task_id))
    hooks.queue.redrive(task_id)
    hooks.queue.cancel(task_id)
    hooks.deliverer.run_once()
    assert (2, {1, 2}) == (len({got[0] for got in hooks.deliverer._send.got}), {1, hooks.only(task_id).run})  # type: ignore[attr-defined]


def test_more_than_one_commit_removes(engine: Engine) -> None:
    """Any number goes, a few in each commit; by the database's own time where none is given."""
    row = {"task_id": "t", "url": "http://hook.example/a", "body": b"{}", "state": "delivered", "updated_at": VirtualClock().now()}
    with engine.begin() as connection:
        connection.execute(insert(webhook_deliveries), [row | {"id": f"d{n}", "run": n} for n in range(1_200)])
    assert 700 == prune(engine, Keep(max_age=None, max_count=500))
    assert 500 == prune(engine, Keep())


@pytest.mark.parametrize("wrong", [{"max_age": -1.0}, {"max_count": -1}, {"failed_max_age": -0.5}])
def test_limits(wrong: dict[str, float]) -> None:
    """A negative limit is refused."""
    with pytest.raises(ValueError, match="negative"):
        Keep(**wrong)  # type: ignore[arg-type]


def test_a_deliverer_does_it_now_and_then(engine: Engine, clock: VirtualClock) -> None:
    """At its start, and then every ten minutes; what is due is sent before."""
    hooks = Hooks(engine, clock, Told(), keep=Keep(max_age=300.0), poll_seconds=100.0)
    task_id, looks = hooks.completed(), list[str | None]()

    def pause(seconds: float) -> None:
        looks.append(hooks.only_state(task_id))
        clock.sleep(seconds)

    hooks.deliverer.run(lambda: len(looks) == 8, pause)
    assert PRUNE_SECONDS == 600.0
    assert ["delivered"] * 6 + [None] * 2 == looks


def one_of_each(process: Process) -> None:
    """A delivery that was received, and one that is still to be made."""
    finish(process, ("completed", "failed"))
    deliverer(process).run_once(lambda: bool(process.world.ledger.entries()))  # it stops behind the first
    process.clock.sleep(1)


def only_the_received(end: End) -> str | None:
    """The one to be made is there whatever happened; whoever comes to the end has removed the other one."""
    left = {row["state"] for row in end.rows.get("webhook_deliveries", ())}
    fine = left == {"pending"} if end.last.how == "returned" else "pending" in left
    return None if fine else f"left: {left}"


def too_much(process: Process) -> None:
    """The bug: whatever is old goes, also what was not received."""
    with process.engine.begin() as connection:
        connection.execute(text("DELETE FROM webhook_deliveries"))


@pytest.mark.parametrize("database", DATABASES)
def test_every_crash(database: str) -> None:
    """Crashed anywhere, any number of times, while old ones are removed: what is still to be made is there, and what was received goes."""
    made = Scenario("prune", lambda process: prune(process.engine, NOTHING, process.clock.now()), [only_the_received], one_of_each)
    report = sweep(made, "memory" if database == "sqlite" else database)
    assert ("holds", True) == (report.verdict, report.closure is not None and report.closure.closed), report
    assert "broken" == sweep(Scenario("too_much", too_much, [only_the_received], one_of_each), "memory").verdict


@pytest.mark.parametrize("database", DATABASES)
def test_while_another_delivers(database: str) -> None:
    """In every order of one who removes and one who delivers, both ends are told once, and the one received an instant ago is still there."""
    prune_now = lambda process: prune(process.engine, Keep(max_age=0.0), process.clock.now())  # noqa: E731
    bodies = [lambda process: deliverer(process).run_once(), prune_now]
    made = Scenario("race", bodies, [all_written, same_bytes], lambda process: finish(process, ("completed", "failed")))
    report = interleave(made, database, preemptions=1)
    assert "holds" == report.verdict, report
