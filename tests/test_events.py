"""The event bus: what any process did, once and in order to each subscriber, and nobody suffers from another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from labkit.database import open_engine
from labkit.errors import StoreBusy, UsageError
from labkit.events import Event, EventBus, Subscription
from labkit.events import bus as bus_module
from labkit.queue import Job, Lease, TaskQueue
from labkit.tables import progress_log, tasks


def unstarted(name: str, run: Callable[[], None]) -> threading.Thread:
    """A spawner of threads that nobody starts: the test calls what would run in them."""
    return threading.Thread(target=run, name=name)


class Bus:
    """A bus without threads, and a queue whose tasks it tells of."""

    def __init__(self, engine: Engine) -> None:
        self.queue = TaskQueue(engine, max_attempts=1)
        self.bus = EventBus(engine, spawn=unstarted)

    def job(self) -> Job:
        self.queue.submit("deploy shop")
        task = self.queue.claim("w1")
        assert task is not None
        return Job(self.queue, task, lambda: False)

    def completed(self, result: str = "up") -> str:
        return self.queue.complete(self.job().lease, result).id

    def read(self, bus: EventBus | None = None) -> None:
        """Read all; on PostgreSQL a reader that meets a gap looks again before it goes past it."""
        for _ in range(3):
            (bus or self.bus).read_once()

    def heard(self, event_type: str = "*", **options: Any) -> tuple[list[Event], Subscription]:
        got: list[Event] = []
        return got, self.bus.subscribe(event_type, got.append, **options)


@pytest.fixture
def bus(engine: Engine) -> Bus:
    return Bus(engine)


def test_what_is_told(bus: Bus) -> None:
    """A tool that ran, a completion with its result, a failure with its error (also as `agent.error`), a cancel with its reason."""
    got, subscription = bus.heard()
    job = bus.job()
    job.tell(1, "thinking")
    job.tell(1, "tool_call", tool="deploy")
    job.tell(1, "tool_result", "it runs", tool="deploy")
    bus.queue.complete(job.lease, "up")
    failed = bus.queue.fail(bus.job().lease, "no disk").id
    cancelled = bus.queue.cancel(bus.job().task.id, "no longer").id
    bus.read()
    assert 5 == subscription.handle()
    assert [
        ("tool.executed", job.task.id, {"tool": "deploy", "step": 1, "message": "it runs"}),
        ("task.completed", job.task.id, {"result": "up"}),
        ("agent.error", failed, {"error": "no disk"}),
        ("task.failed", failed, {"error": "no disk"}),
        ("task.cancelled", cancelled, {"error": "no longer"}),
    ] == [(event.type, event.task_id, dict(event.payload)) for event in got]
    assert [update.time for _, update in bus.queue.progress.history(job.task.id)][2:] == [event.time for event in got[:2]]
    assert f"<Event task.completed {job.task.id}>" == repr(got[1])


def test_a_question_is_told(bus: Bus) -> None:
    """A task that asks a person is told with its question, each time that it asks, and not when it is read to its end."""
    got, subscription = bus.heard("task.waiting")
    job = bus.job()
    job.tell(1, "thinking", "Really?")
    bus.queue.park(job.lease, "Really?")
    bus.queue.answer(job.task.id, "yes")
    bus.queue.park(Lease.of(bus.queue.claim("w1")), "And the backup?")  # type: ignore[arg-type]
    bus.queue.answer(job.task.id, "no")
    bus.queue.complete(Lease.of(bus.queue.claim("w1")), "up")  # type: ignore[arg-type]
    bus.read()
    subscription.handle()
    assert [(job.task.id, {"question": text}) for text in ("Really?", "And the backup?")] == [(e.task_id, dict(e.payload)) for e in got]


def test_what_a_run_was(bus: Bus) -> None:
    """A run that failed is told as a failure, though its task was cancelled or completed in a later one before anybody read."""
    got, subscription = bus.heard("*")
    for last in ("cancel", "complete"):
        task_id = bus.queue.fail(bus.job().lease, "no").id
        bus.queue.redrive(task_id)
        if last == "cancel":
            bus.queue.cancel(task_id)
        else:
            bus.queue.complete(Lease.of(bus.queue.claim("w1")), "up")  # type: ignore[arg-type]
    bus.read()
    subscription.handle()
    assert ["agent.error", "task.failed", "task.cancelled", "agent.error", "task.failed", "task.completed"] == [e.type for e in got]


def test_only_what_was_asked_for(bus: Bus) -> None:
    """Each subscriber hears its type, from its subscription on, each event once and in order; what was before the bus is not told."""
    bus.completed("before")
    late = EventBus(bus.queue.engine, spawn=unstarted)
    results: list[Any] = []
    subscription = late.subscribe("task.completed", lambda event: results.append(event.payload["result"]))
    failures: list[str] = []
    other = late.subscribe("task.failed", lambda event: failures.append(event.task_id))
    made = [bus.completed(str(number)) for number in range(5)]
    failed = bus.queue.fail(bus.job().lease, "no").id
    bus.read(late)
    late.subscribe("task.completed", lambda event: pytest.fail("told what came before it"))
    assert (5, 1, 0) == (subscription.handle(), other.handle(), subscription.handle())
    assert ([str(n) for n in range(5)], [failed], 5) == (results, failures, len(made))


def test_across_processes(bus: Bus, engine: Engine) -> None:
    """What somebody else's connection did is told, and an end that was rolled back is not."""
    got, subscription = bus.heard()
    other = open_engine(engine.url)
    task_id = TaskQueue(other).submit("deploy")
    TaskQueue(other).cancel(task_id, "by another")
    with other.connect() as connection:
        connection.execute(insert(progress_log).values(task_id="x", step=1, status="tool_result", tool="never"))
        connection.rollback()
    other.dispose()
    bus.read()
    subscription.handle()
    assert [("task.cancelled", task_id)] == [(event.type, event.task_id) for event in got]


@pytest.mark.postgres
def test_a_late_commit_is_told(postgres: Engine) -> None:
    """What began before the bus and became visible after it is told, though its position is lower than what was there; what was there is not."""
    queue = TaskQueue(postgres)
    task_id = queue.submit("deploy")
    with postgres.connect() as slow:
        written = insert(progress_log).values(task_id=task_id, step=1, status="tool_result", tool="slow")
        slow.execute(written)
        with postgres.begin() as connection:
            connection.execute(insert(progress_log).values(task_id=task_id, step=1, status="tool_result", tool="there"))
        bus = EventBus(postgres, spawn=unstarted)
        tools: list[Any] = []
        subscription = bus.subscribe("tool.executed", lambda event: tools.append(event.payload["tool"]))
        assert 0 == bus.read_once()
        slow.commit()
    for _ in range(3):
        bus.read_once()
    subscription.handle()
    assert ["slow"] == tools


def test_a_failing_handler_hurts_nobody(bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged without the payload, is called again for the next event, and the others hear everything."""

    def fail(event: Event) -> None:
        calls.append(event.type)
        raise RuntimeError(f"cannot take {event.payload}")

    calls: list[str] = []
    bad = bus.bus.subscribe("task.completed", fail)
    got, good = bus.heard()
    bus.completed("a secret")
    bus.completed("a secret")
    bus.read()
    assert (2, 2, 2, 2) == (bad.handle(), good.handle(), len(calls), len(got))
    assert (2, False) == (caplog.text.count("a handler of task.completed failed on task"), "secret" in caplog.text)
    assert "RuntimeError" in caplog.text


def test_a_crash_of_a_handler_goes_through(bus: Bus) -> None:
    """What is no Exception ends that subscription, which leaves nothing behind; the others go on."""

    def leave(event: Event) -> None:
        raise KeyboardInterrupt

    leaving = bus.bus.subscribe("*", leave)
    got, good = bus.heard()
    bus.completed()
    bus.read()
    with pytest.raises(KeyboardInterrupt):
        leaving.run()
    assert (1, 1, True, 1) == (good.handle(), len(got), leaving.closed, bus.bus.subscribers)


def test_nobody_can_change_an_event_for_others(bus: Bus) -> None:
    """A payload cannot be written to."""
    got, subscription = bus.heard()
    bus.completed()
    bus.read()
    subscription.handle()
    with pytest.raises(TypeError):
        got[0].payload["result"] = "down"  # type: ignore[index]


def test_the_bound(bus: Bus) -> None:
    """Who falls behind keeps what it has, is told how many it lost where the gap is, and hears all that comes then; others lose nothing."""
    slow, behind = bus.heard("task.completed", bound=3)
    fast, quick = bus.heard()
    for number in range(5):
        bus.completed(str(number))
    bus.read()
    assert 4 == behind.handle()
    bus.completed("5")
    bus.read()
    behind.handle()
    quick.handle()
    assert ["0", "1", "2", 2, "5"] == [event.payload.get("result", event.payload.get("count")) for event in slow]
    assert ("events.lost", ["task.completed"] * 6) == (slow[3].type, [event.type for event in fast])


def test_room_that_comes_too_early_is_not_used(bus: Bus) -> None:
    """What comes between the loss and its report is lost too, and counted: no event is told before the gap in front of it."""
    numbers: list[Any] = []

    def take(event: Event) -> None:
        numbers.append(event.payload.get("result", event.payload.get("count")))
        if len(numbers) == 1:  # while it is busy with its first
            bus.completed("2")
            bus.read()

    subscription = bus.bus.subscribe("*", take, bound=2)
    for result in ("0", "1", "lost"):
        bus.completed(result)
    bus.read()
    subscription.handle()
    assert ["0", "1", 2] == numbers


def test_unsubscribing_leaves_nothing(bus: Bus) -> None:
    """Also from the handler itself: no call begins any more, nothing waits, the bus knows it no more; twice is fine."""
    got: list[Event] = []

    def once(event: Event) -> None:
        got.append(event)
        subscription.unsubscribe()

    subscription = bus.bus.subscribe("*", once)
    for _ in range(3):
        bus.completed()
    bus.read()
    subscription.run()
    subscription.unsubscribe()
    bus.completed()
    bus.read()
    assert (1, 0, 0) == (len(got), bus.bus.subscribers, subscription.handle())
    assert "<Subscription *, 0 waiting, closed>" == repr(subscription)


def test_an_unknown_type(bus: Bus) -> None:
    """Nobody waits for a type that never comes, and nobody whose thread did not start stays on the list."""
    with pytest.raises(UsageError, match=r"task\.waitting"):
        bus.bus.subscribe("task.waitting", print)

    def none(name: str, run: Callable[[], None]) -> threading.Thread:
        raise UsageError("no thread")

    full = EventBus(bus.queue.engine, spawn=none)
    with pytest.raises(UsageError, match="no thread"):
        full.subscribe("*", print)
    assert 0 == full.subscribers


def test_an_outage_loses_nothing(bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A database that goes away between reading the log and looking up the tasks is logged, and the events come when it is back."""
    got, subscription = bus.heard()
    bus.completed()
    real, fails = bus_module.ends, [StoreBusy(), StoreBusy()]

    def sometimes(*args: Any) -> Any:
        if fails:
            raise fails.pop()
        return real(*args)

    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 5:
            bus.bus.stop()

    monkeypatch.setattr(bus_module, "ends", sometimes)
    monkeypatch.setattr(bus.bus, "_pause", nap)
    monkeypatch.setattr(subscription, "unsubscribe", lambda: None)  # so that what waits can be looked at
    bus.bus._run()
    subscription.handle()
    assert (1, 2) == (len(got), caplog.text.count("cannot read the progress log"))


def test_with_real_threads(engine: Engine) -> None:
    """One reader and one thread for each subscriber, however many events; a handler that hangs delays no other; nothing is left at the end."""
    started: list[threading.Thread] = []

    def spawn(name: str, run: Callable[[], None]) -> threading.Thread:
        started.append(threading.Thread(target=run, name=name))
        started[-1].start()
        return started[-1]

    queue = TaskQueue(engine)
    bus = EventBus(engine, spawn=spawn, poll_seconds=0.01)
    free, done, got = threading.Event(), threading.Event(), list[str]()

    def hang(event: Event) -> None:
        free.wait(60)

    def take(event: Event) -> None:
        got.append(event.task_id)
        if len(got) == 30:
            done.set()

    bus.subscribe("*", hang)
    bus.subscribe("task.cancelled", take)
    bus.start()
    made = [queue.cancel(queue.submit("deploy")).id for _ in range(30)]
    assert done.wait(60)
    bus.stop()
    free.set()
    for thread in started:
        thread.join(60)
    assert (made, 3, 0) == (got, len(started), bus.subscribers)
    assert [] == [thread.name for thread in started if thread.is_alive()]


def test_a_task_that_is_gone(bus: Bus) -> None:
    """A bus says in one line whom it serves; a task that was deleted has no end to tell."""
    assert repr(bus.bus).endswith(" 0 subscribers>")
    got, subscription = bus.heard()
    task_id = bus.completed()
    with bus.queue.engine.begin() as connection:
        connection.execute(tasks.delete().where(tasks.c.id == task_id))
    bus.read()
    assert (0, []) == (subscription.handle(), got)
