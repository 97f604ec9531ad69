"""The fence: who may still write, who may not, and what a failure or a release leaves."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from labkit.clock import VirtualClock
from labkit.errors import StaleLease, UnstorableValue
from labkit.queue import Lease, TaskCancelled, TaskQueue
from labkit.queue.complete import LARGEST_RESULT
from labkit.retry import RetryPolicy
from labkit.task import TaskState
from tests.queue.helpers import ends, taken

Write = Callable[[TaskQueue, Lease], object]
WRITES: dict[str, Write] = {
    "heartbeat": lambda queue, lease: queue.heartbeat(lease),
    "complete": lambda queue, lease: queue.complete(lease, "zombie"),
    "complete_and_claim": lambda queue, lease: queue.complete_and_claim(lease, "zombie"),
    "fail": lambda queue, lease: queue.fail(lease, "zombie"),
    "fail, to be retried": lambda queue, lease: queue.fail(lease, "zombie", retry_in=1.0),
    "release": lambda queue, lease: queue.release(lease),
    "park": lambda queue, lease: queue.park(lease, "zombie?"),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


@every_write
@pytest.mark.parametrize("second", ["w1", "w2"])
def test_zombie(queue: TaskQueue, clock: VirtualClock, write: Write, second: str) -> None:
    """A sleeps past the lease, B claims; what A then writes raises StaleLease and changes nothing, also under one name."""
    task_id, waiting = queue.submit("deploy"), queue.submit("next", priority=-1)
    zombie = taken(queue, "w1")
    clock.sleep(61)
    held = taken(queue, second)
    before = queue.get(task_id)
    with pytest.raises(StaleLease):
        write(queue, zombie)
    assert (before, TaskState.PENDING) == (queue.get(task_id), queue.get(waiting).state)
    queue.complete(held, "B")
    with pytest.raises(StaleLease):
        write(queue, zombie)
    assert ("B", [("completed", "")]) == (queue.get(task_id).result, ends(queue, task_id))


@every_write
def test_after_the_end(queue: TaskQueue, write: Write) -> None:
    """A second end under the same lease is refused: the first one stays."""
    queue.submit("deploy")
    lease = taken(queue)
    done = queue.complete(lease, "first")
    with pytest.raises(StaleLease):
        write(queue, lease)
    assert done == queue.get(lease.task_id)


@every_write
def test_cancelled_while_running(queue: TaskQueue, write: Write) -> None:
    """A worker whose task was cancelled hears TaskCancelled at its next write."""
    queue.submit("deploy")
    lease = taken(queue)
    queue.cancel(lease.task_id)
    with pytest.raises(TaskCancelled):
        write(queue, lease)


@every_write
def test_unknown_task(queue: TaskQueue, clock: VirtualClock, write: Write) -> None:
    """A lease on a task that is not there is stale."""
    with pytest.raises(StaleLease):
        write(queue, Lease("nobody", "w1", 1, clock.now()))


@pytest.mark.parametrize("name", ["heartbeat", "complete", "fail", "release"])
def test_expired_but_not_taken(queue: TaskQueue, clock: VirtualClock, name: str) -> None:
    """A lease that is over but that nobody took still holds."""
    queue.submit("deploy")
    lease = taken(queue)
    clock.sleep(600)
    WRITES[name](queue, lease)


def test_heartbeat(queue: TaskQueue, clock: VirtualClock) -> None:
    """A heartbeat moves the end of the lease and nothing else of it."""
    queue.submit("deploy")
    lease = taken(queue)
    clock.sleep(50)
    renewed = queue.heartbeat(lease)
    assert renewed == Lease(lease.task_id, "w1", 1, lease.expires_at + timedelta(seconds=50))
    assert renewed.expires_at == queue.get(lease.task_id).lease_expires_at


def test_complete(queue: TaskQueue, clock: VirtualClock) -> None:
    """A completed task has its result, no lease and no error, also an empty result."""
    queue.submit("deploy")
    queue.fail(taken(queue), "first try", retry_in=0)
    done = queue.complete(taken(queue), "")
    assert (TaskState.COMPLETED, "", None, None, 2) == (
        done.state,
        done.result,
        done.error,
        done.lease_expires_at,
        done.attempt,
    )
    assert done == queue.get(done.id)


def test_complete_and_claim(queue: TaskQueue, clock: VirtualClock) -> None:
    """Completing and claiming in one commit gives what the two calls would give, until nothing is due."""
    first, second = queue.submit("first", priority=1), queue.submit("second")
    done, task = queue.complete_and_claim(taken(queue), "r1")
    assert task is not None
    assert (first, TaskState.COMPLETED, second, "w1", 1) == (done.id, done.state, task.id, task.worker_id, task.attempt)
    assert (done, task) == (queue.get(first), queue.get(second))
    done, nothing = queue.complete_and_claim(Lease.of(task), "r2")
    assert (second, None) == (done.id, nothing)
    assert [("completed", "")] == ends(queue, first) == ends(queue, second)


def test_fused_never_takes_itself(queue: TaskQueue, clock: VirtualClock) -> None:
    """A worker that completes late, with its lease over, does not claim the task that it has just completed."""
    queue.submit("deploy")
    lease = taken(queue)
    clock.sleep(600)
    done, following = queue.complete_and_claim(lease, "late")
    assert (TaskState.COMPLETED, None) == (done.state, following)


@pytest.mark.parametrize("result", ["a\x00b", "\ud800", b"bytes", None, 3])
def test_result_that_cannot_be_stored(queue: TaskQueue, result: object) -> None:
    """A result that no store can hold is refused before anything is written; the task can still be failed."""
    task_id = queue.submit("deploy")
    lease = taken(queue)
    for write in (queue.complete, queue.complete_and_claim):
        with pytest.raises(UnstorableValue) as caught:
            write(lease, result)  # type: ignore[arg-type]
        assert "result" == caught.value.path
    assert TaskState.FAILED == queue.fail(lease, "bad result: a\x00b \ud800").state
    assert "bad result: a\\u0000b \\ud800" == queue.wait(task_id, 0).error


@pytest.mark.parametrize(
    ("result", "fits"), [("x" * LARGEST_RESULT, True), ("x" * (LARGEST_RESULT + 1), False), ("é" * (LARGEST_RESULT // 2 + 1), False)]
)
def test_largest_result(queue: TaskQueue, result: str, fits: bool) -> None:
    """A result has at most so many bytes; a larger one is refused like one that cannot be stored."""
    queue.submit("deploy")
    lease = taken(queue)
    if fits:
        assert result == queue.complete(lease, result).result
    else:
        for write in (queue.complete, queue.complete_and_claim):
            with pytest.raises(UnstorableValue, match="larger than 1000000 bytes"):
                write(lease, result)
        assert TaskState.RUNNING == queue.get(lease.task_id).state


def test_long_error(queue: TaskQueue) -> None:
    """Of an endless error text the beginning and the end are kept."""
    task_id = queue.submit("deploy")
    queue.fail(taken(queue), "begin" + "x" * 10**6 + "end")
    error = queue.get(task_id).error or ""
    assert (True, True, True) == (len(error) < 11_000, error.startswith("begin"), error.endswith("end"))


def test_fail_for_good(queue: TaskQueue) -> None:
    """Without a delay a failure is the end, with its terminal event."""
    task_id = queue.submit("deploy")
    failed = queue.fail(taken(queue), "no such host")
    assert (TaskState.FAILED, "no such host", None) == (failed.state, failed.error, failed.lease_expires_at)
    assert [("error", "no such host")] == ends(queue, task_id)
    assert queue.claim("w1") is None


def test_fail_until_dead(queue: TaskQueue, clock: VirtualClock) -> None:
    """With a delay it is pending again, due then, until its attempts are used up: k attempts, k - 1 waits, the last error."""
    task_id = queue.submit("deploy", max_attempts=3)
    waits = 0
    for attempt in (1, 2, 3):
        task = queue.fail(taken(queue), f"error {attempt}", retry_in=10)
        if task.state == TaskState.PENDING:
            waits += 1
            assert (clock.now() + timedelta(seconds=10), None) == (task.available_at, task.worker_id)
            assert [] == ends(queue, task_id)
            assert queue.claim("w1") is None
            clock.sleep(10)
    assert (2, "failed", "error 3", 3) == (
        waits,
        queue.get(task_id).state,
        queue.get(task_id).error,
        queue.get(task_id).attempt,
    )
    assert [("error", "error 3")] == ends(queue, task_id)


@pytest.mark.parametrize("delay", [0.0, -5.0, 1e300, float("inf"), float("nan"), 2.0**46])
def test_any_delay(queue: TaskQueue, clock: VirtualClock, delay: float) -> None:
    """Whatever a policy computes, the date stays one that can be stored."""
    queue.submit("deploy")
    task = queue.fail(taken(queue), "x", retry_in=delay)
    assert task.available_at is not None
    assert timedelta(0) <= task.available_at - clock.now() <= timedelta(days=366)


def test_delay_of_any_attempt(queue: TaskQueue, clock: VirtualClock) -> None:
    """The delays of a policy after 0 to 10,000 and after a billion failures are finite, capped and non-decreasing, and can be stored."""
    policy = RetryPolicy(base=1.0, cap=60.0)
    delays = [policy.delay(n) for n in [*range(10_000), 10**9]]
    assert delays == sorted(delays)
    assert 60.0 == delays[-1] == RetryPolicy(cap=60.0).delay(10**9)
    queue.submit("deploy")
    task = queue.fail(taken(queue), "x", retry_in=RetryPolicy(cap=None).delay(10**9))
    assert TaskState.PENDING == task.state


def test_an_outage_does_not_come_back_at_once(queue: TaskQueue, clock: VirtualClock) -> None:
    """200 tasks that fail in one instant return spread out, never before the floor, the same way for the same seed."""

    def schedule() -> list[float]:
        policy = RetryPolicy(base=32.0, cap=60.0, rng=random.Random(7))
        return [policy.delay(0, retry_after=5.0) for _ in range(200)]

    delays = schedule()
    assert delays == schedule()
    for _ in range(20):  # the queue stores what the policy draws
        queue.submit("deploy", max_attempts=9)
    back = [queue.fail(taken(queue), "outage", retry_in=delay).available_at for delay in delays[:20]]
    assert [clock.now() + timedelta(seconds=delay) for delay in delays[:20]] == back
    seconds = [int(delay) for delay in delays]
    assert min(delays) >= 5.0
    assert max(seconds.count(second) for second in set(seconds)) <= 200 * 0.1


def test_release(queue: TaskQueue, clock: VirtualClock) -> None:
    """What a worker gives back is pending at once, nobody's, and that attempt does not count; the number goes on."""
    task_id = queue.submit("deploy", max_attempts=1)
    for attempt in (1, 2, 3):
        lease = taken(queue)
        back = queue.release(lease)
        assert (TaskState.PENDING, None, None, attempt) == (
            back.state,
            back.worker_id,
            back.lease_expires_at,
            lease.attempt,
        )
    queue.fail(taken(queue), "now it counts", retry_in=0)
    assert (TaskState.FAILED, 4) == (queue.get(task_id).state, queue.get(task_id).attempt)


def test_release_with_delay(queue: TaskQueue, clock: VirtualClock) -> None:
    """A released task may be told to wait."""
    queue.submit("deploy")
    queue.release(taken(queue), delay=30)
    assert queue.claim("w1") is None
    clock.sleep(30)
    assert queue.claim("w1") is not None


def test_lease_of_a_task(queue: TaskQueue) -> None:
    """Only a claimed task has a lease."""
    with pytest.raises(StaleLease):
        Lease.of(queue.get(queue.submit("deploy")))
