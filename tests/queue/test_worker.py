"""A worker without threads: heartbeats hang on the virtual clock, the test owns every move."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.errors import StaleLease, StoreBusy, StoreFull, TerminalError, TransientError, UnstorableValue, UsageError
from labkit.queue import GiveBack, Job, TaskCancelled, TaskQueue, Worker
from labkit.task import TaskState
from tests.queue.helpers import Ticks, ends, taken


@pytest.fixture
def ticks(clock: VirtualClock) -> Ticks:
    return Ticks(clock)


@pytest.fixture
def cloud(clock: VirtualClock) -> Cloud:
    return Cloud(MemoryLedger(), clock)


def worker(queue: TaskQueue, ticks: Ticks, handler: object, name: str = "w1") -> Worker:
    return Worker(queue, handler, name, every=ticks)


def test_works_until_nothing_is_due(queue: TaskQueue, ticks: Ticks) -> None:
    """All that is due is done in order, each handed to the handler with its id as key; then it stops."""
    ids = [queue.submit(f"task {n}", priority=-n) for n in range(3)]
    seen = list[tuple[str, str, int]]()

    def handle(job: Job) -> str:
        seen.append((job.user_input, job.key, job.task.attempt))
        return job.user_input.upper()

    w1 = worker(queue, ticks, handle)
    assert 3 == w1.run_until_idle() == w1.done
    assert [(f"task {n}", ids[n], 1) for n in range(3)] == seen
    assert ["TASK 0", "TASK 1", "TASK 2"] == [queue.get(i).result for i in ids]
    assert [] == ticks.acts
    assert "<Worker w1 done=3 failed=0 lost=0>" == repr(w1)


def test_long_task_is_never_taken(queue: TaskQueue, ticks: Ticks, clock: VirtualClock, cloud: Cloud) -> None:
    """Lease 60 s, work 180 s, looked at each second: no renewal later than half a lease, nobody else gets it."""
    gaps = list[timedelta]()

    def handle(job: Job) -> str:
        for _ in range(180):
            clock.sleep(1)
            until = queue.get(job.task.id).lease_expires_at
            assert until is not None
            gaps.append(timedelta(seconds=60) - (until - clock.now()))
            assert queue.claim("w2") is None
            job.check()
        return cloud.create_namespace("shop", key=job.key)

    queue.submit("deploy")
    assert 1 == worker(queue, ticks, handle).run_until_idle()
    assert (180, 1) == (len(gaps), cloud.count("create_namespace"))
    assert max(gaps) <= timedelta(seconds=30)


def test_failing_heartbeats(
    queue: TaskQueue, ticks: Ticks, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two heartbeats that meet an outage are survived, since the third comes within the lease."""
    beat, calls = queue.heartbeat, list[int]()

    def flaky(lease: object) -> object:
        calls.append(1)
        if len(calls) in (1, 2):
            raise [StoreBusy(), OperationalError("x", None, Exception("gone"))][len(calls) - 1]
        return beat(lease)  # type: ignore[arg-type]

    monkeypatch.setattr(queue, "heartbeat", flaky)

    def handle(job: Job) -> str:
        for _ in range(100):
            clock.sleep(1)
            assert queue.claim("w2") is None
        return "done"

    task_id = queue.submit("deploy")
    assert 1 == worker(queue, ticks, handle).run_until_idle()
    assert ("done", 6) == (queue.get(task_id).result, len(calls))


def test_zombie_worker(queue: TaskQueue, ticks: Ticks, clock: VirtualClock) -> None:
    """A worker that stands still past its lease: its flag is set, its result is refused and counted, its successor's stays."""
    task_id = queue.submit("deploy")
    flags = list[bool]()

    def handle(job: Job) -> str:
        ticks.frozen = True  # the whole process stands still
        clock.sleep(100)
        assert 1 == worker(queue, Ticks(VirtualClock()), lambda other: "B", "w2").run_until_idle()
        ticks.frozen = False
        clock.sleep(1)
        flags.append(job.lost)
        with pytest.raises(StaleLease):
            job.check()
        with pytest.raises(StaleLease):
            job.tell(1, "thinking")
        return "A"

    w1 = worker(queue, ticks, handle)
    assert 0 == w1.run_until_idle()
    assert ([True], 1, "B", 2) == (flags, w1.lost, queue.get(task_id).result, queue.get(task_id).attempt)
    assert [("completed", "")] == ends(queue, task_id)


def test_cancel_is_seen(queue: TaskQueue, ticks: Ticks, clock: VirtualClock) -> None:
    """A handler that checks stops within a quarter of the lease after the cancel; nothing of it is written."""
    task_id = queue.submit("deploy")
    steps = list[int]()

    def handle(job: Job) -> str:
        for step in range(60):
            job.check()
            steps.append(step)
            clock.sleep(1)
            if step == 20:
                queue.cancel(task_id, "changed my mind")
        return "done"

    w1 = worker(queue, ticks, handle)
    w1.run_until_idle()
    assert (1, 0, 0, TaskState.CANCELLED) == (w1.cancelled, w1.lost, w1.failed, queue.get(task_id).state)
    assert "<Worker w1 done=0 failed=0 lost=0 cancelled=1>" == repr(w1)
    assert 21 + 15 >= len(steps)
    assert [("error", "changed my mind")] == ends(queue, task_id)


@pytest.mark.parametrize("hears", ["tell", "check", "nothing", "own error"])
def test_cancel_is_no_failure(queue: TaskQueue, ticks: Ticks, clock: VirtualClock, caplog: pytest.LogCaptureFixture, hears: str) -> None:
    """However a handler hears of a cancel, the log has one line on it and no failed attempt; an error of its own is told all the same."""
    task_id = queue.submit("deploy")

    def handle(job: Job) -> str:
        queue.cancel(task_id)
        if hears == "tell":
            job.tell(1, "thinking")
        elif hears == "check":
            clock.sleep(30)
            job.check()
        elif hears == "own error":
            raise ValueError("no shop")
        return "done"

    w1 = worker(queue, ticks, handle)
    with caplog.at_level("INFO", "labkit.worker"):
        w1.run_until_idle()
    cancelled, *more = [record.getMessage() for record in caplog.records]
    assert f"task {task_id}: attempt 1 was cancelled under the worker" == cancelled
    assert (1, 0, 0) == (w1.cancelled, w1.lost, w1.failed)
    assert (["ValueError"] if hears == "own error" else []) == [line.split(": ")[2] for line in more]


def test_failure_names_its_place(queue: TaskQueue, ticks: Ticks, caplog: pytest.LogCaptureFixture) -> None:
    """The line on a failed attempt ends with the innermost line of the job's own file, also where labkit or a library raised."""

    def slip(job: Job) -> str:
        return str(job.progress)  # type: ignore[attr-defined]

    def library(job: Job) -> str:
        return str(json.loads(job.user_input))

    def labkits(job: Job) -> str:
        return str(job.tell(1, "no such status"))  # type: ignore[arg-type]

    handlers: list[Callable[[Job], str]] = [slip, library, labkits]
    for number, handler in enumerate(handlers):
        queue.submit(handler.__name__, max_attempts=1, priority=-number)
    with caplog.at_level("INFO", "labkit.worker"):
        worker(queue, ticks, {handler.__name__: handler for handler in handlers}).run_until_idle()
    lines = [handler.__code__.co_firstlineno + 1 for handler in handlers]
    assert [f"(test_worker.py:{line})" for line in lines] == [record.getMessage().split()[-1] for record in caplog.records]


def test_failure_without_a_place(queue: TaskQueue, ticks: Ticks, caplog: pytest.LogCaptureFixture) -> None:
    """What labkit itself refuses comes from no line of a job, and none is named."""
    queue.submit("reboot")
    with caplog.at_level("INFO", "labkit.worker"):
        worker(queue, ticks, {"deploy": lambda job: "deployed"}).run_until_idle()
    assert ["(known: deploy)"] == [record.getMessage()[-15:] for record in caplog.records]


def test_retries_spread_and_end(queue: TaskQueue, ticks: Ticks, clock: VirtualClock) -> None:
    """A failing task is tried as often as it may be, with drawn waits that grow, and keeps its last error."""
    task_id = queue.submit("deploy", max_attempts=4)
    calls = list[float]()

    def handle(job: Job) -> str:
        calls.append(clock.monotonic())
        raise RuntimeError(f"error {len(calls)}")

    w1 = worker(queue, ticks, handle)
    for _ in range(30):
        w1.run_until_idle()
        clock.sleep(1)
    assert (4, "failed", "error 4", 4) == (len(calls), queue.get(task_id).state, queue.get(task_id).error, w1.failed)
    assert [("error", "error 4")] == ends(queue, task_id)


def test_outage_of_many(queue: TaskQueue, ticks: Ticks, clock: VirtualClock) -> None:
    """Sixty tasks that fail in one instant with a floor of 10 s come back spread out, none before the floor."""

    def handle(job: Job) -> str:
        raise TransientError("503", retry_after=10.0)

    ids = [queue.submit("call", max_attempts=9) for _ in range(60)]
    w1 = Worker(queue, handle, "w1", every=ticks)
    w1.run_until_idle()
    waits = [(at - clock.now()).total_seconds() for at in (queue.get(i).available_at for i in ids) if at]
    assert 60 == len(waits) == w1.failed
    assert (min(waits) >= 10.0, max(waits) <= 11.0) == (True, True)
    assert max(sum(int(w * 10) == tenth for w in waits) for tenth in range(100, 111)) <= 20


@pytest.mark.parametrize("error", [TerminalError("wrong host"), StaleLease("not ours")])
def test_kinds_of_errors(queue: TaskQueue, ticks: Ticks, error: Exception) -> None:
    """A TerminalError ends the task at its first attempt; a StaleLease that is not about our lease is an error like others."""
    task_id = queue.submit("deploy")

    def handle(job: Job) -> str:
        raise error

    worker(queue, ticks, handle).run_until_idle()
    assert ("failed" if isinstance(error, TerminalError) else "pending") == queue.get(task_id).state
    assert str(error) == queue.get(task_id).error


@pytest.mark.parametrize("result", ["a\x00b", None, 7])
def test_result_that_cannot_be_stored(queue: TaskQueue, ticks: Ticks, result: object) -> None:
    """A result that cannot be stored fails the task once, and whoever waits hears it."""
    task_id = queue.submit("deploy")
    w1 = worker(queue, ticks, lambda job: result)
    w1.run_until_idle()
    ended = queue.wait(task_id, timeout=0)
    assert (TaskState.FAILED, 1, 1) == (ended.state, ended.attempt, w1.failed)
    assert ended.error is not None
    assert ended.error.startswith("result ")


def test_oversized_result(queue: TaskQueue, ticks: Ticks) -> None:
    """A result over the cap ends the task at its first attempt: it would be too large again."""
    task_id = queue.submit("deploy", max_attempts=5)
    w1 = worker(queue, ticks, lambda job: "x" * 10**7)
    w1.run_until_idle()
    assert (TaskState.FAILED, 1, 1) == (queue.get(task_id).state, queue.get(task_id).attempt, w1.failed)
    assert [("error", "result is larger than 1000000 bytes")] == ends(queue, task_id)


def test_deadline_is_never_set_again(queue: TaskQueue, ticks: Ticks, clock: VirtualClock) -> None:
    """Ten seconds from the submit on, queued time counted; begun at five, dead until eight, the next attempt has two left."""
    queue.lease_seconds = 2.0
    task_id = queue.submit("deploy", deadline=clock.now() + timedelta(seconds=10))
    left = list[float]()

    def handle(job: Job) -> str:
        assert job.deadline is not None
        left.append(job.deadline.remaining())
        if job.task.attempt == 1:
            raise Killed
        for _ in range(9):
            job.check()
            clock.sleep(0.5)
        return "too late"

    clock.sleep(5)
    with pytest.raises(Killed):
        worker(queue, ticks, handle).run_until_idle()
    clock.sleep(3)
    worker(queue, ticks, handle, "w2").run_until_idle()
    assert [5.0, 2.0] == left
    assert (TaskState.FAILED, 2, 10.0) == (queue.get(task_id).state, queue.get(task_id).attempt, clock.elapsed)
    assert queue.deadline(queue.submit("other")) is None


def test_naive_deadline(queue: TaskQueue) -> None:
    """A deadline without a time zone is refused."""
    with pytest.raises(UnstorableValue) as caught:
        queue.submit("deploy", deadline=datetime(2026, 1, 9))
    assert "deadline" == caught.value.path


class Killed(BaseException):
    """The process died here."""


@pytest.mark.parametrize("death", [Killed, KeyboardInterrupt, SystemExit])
def test_crash_goes_through(
    queue: TaskQueue, ticks: Ticks, clock: VirtualClock, cloud: Cloud, death: type[BaseException]
) -> None:
    """A crash after the effect goes through untouched; after the lease another worker finishes, the effect is once."""
    task_id = queue.submit("deploy")

    def handle(job: Job) -> str:
        cloud.deploy_container("shop", key=job.key)
        if job.task.attempt == 1:
            raise death
        return "done"

    with pytest.raises(death):
        worker(queue, ticks, handle).run_until_idle()
    assert (TaskState.RUNNING, []) == (queue.get(task_id).state, ticks.acts)
    assert 0 == worker(queue, ticks, handle, "w2").run_until_idle()
    clock.sleep(61)
    assert 1 == worker(queue, ticks, handle, "w2").run_until_idle()
    assert ("done", 1) == (queue.get(task_id).result, cloud.count("deploy_container"))


def test_poison_task_of_workers(queue: TaskQueue, ticks: Ticks, clock: VirtualClock) -> None:
    """A task that kills its worker each time is started three times; other workers then bury it and go on."""
    poison, fine = queue.submit("poison", priority=1), queue.submit("fine")
    starts = list[int]()

    def handle(job: Job) -> str:
        if job.user_input == "poison":
            starts.append(job.task.attempt)
            raise Killed
        return "done"

    for number in range(3):
        with pytest.raises(Killed):
            worker(queue, ticks, handle, f"w{number}").run_until_idle()
        clock.sleep(61)
    worker(queue, ticks, handle, "w9").run_until_idle()
    assert ([1, 2, 3], "lease expired x3", "done") == (starts, queue.get(poison).error, queue.get(fine).result)


def test_stop_finishes(queue: TaskQueue, ticks: Ticks) -> None:
    """Asked to stop, a worker finishes the task under way and takes no other."""
    first, second = queue.submit("first", priority=1), queue.submit("second")

    def handle(job: Job) -> str:
        w1.stop()
        assert job.stopping
        return "done"

    w1 = worker(queue, ticks, handle)
    w1.run()
    assert (TaskState.COMPLETED, TaskState.PENDING, 0) == (
        queue.get(first).state,
        queue.get(second).state,
        queue.get(second).attempt,
    )


def test_stop_gives_back(queue: TaskQueue, ticks: Ticks) -> None:
    """A handler that checks gives its task back when its worker stops: pending at once, the attempt not counted."""
    task_id = queue.submit("deploy", max_attempts=1)

    def handle(job: Job) -> str:
        w1.stop()
        job.check()
        return "done"

    w1 = worker(queue, ticks, handle)
    w1.run()
    assert (TaskState.PENDING, None, 0) == (queue.get(task_id).state, queue.get(task_id).worker_id, w1.failed)
    assert 1 == worker(queue, ticks, lambda job: "done", "w2").run_until_idle()


def test_handler_may_give_back(queue: TaskQueue, ticks: Ticks) -> None:
    """GiveBack from a handler puts the task back without counting a failure."""
    queue.submit("deploy", max_attempts=1)

    def handle(job: Job) -> str:
        if job.task.attempt < 3:
            raise GiveBack
        return "done"

    assert 1 == worker(queue, ticks, handle).run_until_idle()


def test_let_go(queue: TaskQueue, ticks: Ticks) -> None:
    """A process that can wait no longer gives the task back; what the handler writes afterwards is fenced off."""
    task_id = queue.submit("deploy")

    def handle(job: Job) -> str:
        w1.stop()
        assert w1.let_go() is not None
        assert (TaskState.PENDING, True) == (queue.get(task_id).state, job.lost)
        assert 1 == worker(queue, ticks, lambda other: "other", "w2").run_until_idle()
        return "too late"

    w1 = worker(queue, ticks, handle)
    assert w1.let_go() is None
    w1.run()
    assert ("other", 0, 1) == (queue.get(task_id).result, w1.done, w1.lost)


@pytest.mark.parametrize("outage", [StoreBusy, StoreFull])
def test_outage_of_the_database(
    queue: TaskQueue, ticks: Ticks, monkeypatch: pytest.MonkeyPatch, outage: type[Exception]
) -> None:
    """An outage while claiming makes a worker look again later; while completing it tries again and does not fail the task."""
    task_id = queue.submit("deploy")
    claim, finish, calls = queue.claim, queue.complete_and_claim, list[str]()

    def flaky(name: str, act: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            calls.append(name)
            if calls.count(name) <= 2:
                raise outage
            return act(*arguments)

        return call

    monkeypatch.setattr(queue, "claim", flaky("claim", claim))
    monkeypatch.setattr(queue, "complete_and_claim", flaky("complete", finish))
    w1 = worker(queue, ticks, lambda job: "done")
    for _ in range(3):
        w1.run_until_idle()
    assert ("done", 1, 0) == (queue.get(task_id).result, w1.done, w1.lost)


def test_outage_that_lasts(
    queue: TaskQueue, ticks: Ticks, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the end cannot be stored at all the task stays leased and is done again later, under the same key."""
    task_id = queue.submit("deploy")

    def down(*arguments: object) -> object:
        raise StoreBusy

    w1 = worker(queue, ticks, lambda job: "done")
    with monkeypatch.context() as patch:
        patch.setattr(queue, "complete_and_claim", down)
        w1.run_until_idle()
    assert (TaskState.RUNNING, 0) == (queue.get(task_id).state, w1.done)
    clock.sleep(61)
    assert 1 == w1.run_until_idle()


def test_handlers_by_first_word(queue: TaskQueue, ticks: Ticks) -> None:
    """A dict of handlers is asked for the first word, then for "*"; a word that nobody knows fails the task at once."""
    handlers = {"deploy": lambda job: "deployed", "clean": lambda job: "cleaned"}
    ids = [queue.submit(text) for text in ("deploy shop", "clean", "reboot now", "")]
    worker(queue, ticks, handlers).run_until_idle()
    assert ["deployed", "cleaned", None, None] == [queue.get(i).result for i in ids]
    assert "no handler for 'reboot' (known: deploy, clean)" == queue.get(ids[2]).error
    rest = queue.submit("reboot now")
    worker(queue, ticks, {**handlers, "*": lambda job: "other"}).run_until_idle()
    assert "other" == queue.get(rest).result


@pytest.mark.parametrize("wrong", [None, {}, {"a": 1}, "module"])
def test_no_handler(queue: TaskQueue, wrong: object) -> None:
    """What is no handler is refused at once."""
    with pytest.raises(UsageError):
        Worker(queue, wrong, "w1")


def test_buried_under_load(engine: Engine, clock: VirtualClock, ticks: Ticks) -> None:
    """Dead tasks are buried by the heartbeat of a worker that never runs idle."""
    queue = TaskQueue(engine, clock=clock, now=clock.now, max_attempts=1)
    dead = queue.submit("dead")
    taken(queue, "gone")
    queue.submit("long")

    def handle(job: Job) -> str:
        clock.sleep(100)
        assert TaskState.FAILED == queue.get(dead).state
        return "done"

    assert 1 == worker(queue, ticks, handle).run_until_idle()


def test_cancel_error_names_itself() -> None:
    """TaskCancelled is a StaleLease: whoever handles one handles both."""
    assert issubclass(TaskCancelled, StaleLease)
