"""Cancelling, priorities, waiting, dead letters and their way back."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, update

from labkit.clock import VirtualClock
from labkit.errors import InvalidTransition, StaleLease, StaleTask, TaskNotFound
from labkit.queue import Lease, TaskCancelled, TaskQueue, WaitTimeout
from labkit.tables import tasks
from labkit.task import TaskState
from tests.queue.helpers import ends, taken
from tests.queue.test_submit import together


def test_cancel_pending(queue: TaskQueue) -> None:
    """A pending task is cancelled at once, with its reason and one terminal event, and is never claimed."""
    task_id = queue.submit("deploy")
    task = queue.cancel(task_id, "not needed")
    assert (TaskState.CANCELLED, "not needed", task) == (task.state, task.error, queue.get(task_id))
    assert ([("error", "not needed")], None) == (ends(queue, task_id), queue.claim("w1"))


def test_cancel_running(queue: TaskQueue) -> None:
    """A running task is cancelled at once; its worker is told at its next heartbeat."""
    task_id = queue.submit("deploy")
    lease = taken(queue)
    assert TaskState.CANCELLED == queue.cancel(task_id).state
    with pytest.raises(TaskCancelled):
        queue.heartbeat(lease)
    assert [("error", "cancelled")] == ends(queue, task_id)


def test_cancel_waiting(queue: TaskQueue) -> None:
    """A task that is parked for a person can be cancelled."""
    task_id = queue.submit("deploy")
    with queue.engine.begin() as connection:
        connection.execute(update(tasks).values(state="waiting"))
    assert TaskState.CANCELLED == queue.cancel(task_id).state


def test_cancel_twice(queue: TaskQueue) -> None:
    """The second cancel returns the task as it is and writes no second event."""
    task_id = queue.submit("deploy")
    assert queue.cancel(task_id, "first") == queue.cancel(task_id, "second")
    assert [("error", "first")] == ends(queue, task_id)


@pytest.mark.parametrize("end", ["complete", "fail"])
def test_cancel_too_late(queue: TaskQueue, end: str) -> None:
    """What has completed or failed cannot be cancelled any more, and stays what it is."""
    task_id = queue.submit("deploy")
    done = getattr(queue, end)(taken(queue), "text")
    with pytest.raises(InvalidTransition):
        queue.cancel(task_id)
    assert (done, 1) == (queue.get(task_id), len(ends(queue, task_id)))


def test_unknown_ids(queue: TaskQueue) -> None:
    """Everything that is asked of an unknown task is TaskNotFound, at once."""
    calls: list[Any] = [queue.get, queue.cancel, queue.redrive, queue.wait, lambda name: queue.set_priority(name, 1)]
    for call in calls:
        with pytest.raises(TaskNotFound):
            call("nobody")


@pytest.mark.parametrize("other", ["complete", "fail", "cancel", "bury"])
def test_one_end_whoever_races(engine: Engine, clock: VirtualClock, other: str) -> None:
    """Ten rounds of two threads that end one task differently: one terminal state, one terminal event."""
    queue = TaskQueue(engine, clock=clock, now=clock.now, max_attempts=1)
    acts: dict[str, Any] = {
        "complete": lambda lease: queue.complete(lease, "again"),
        "fail": lambda lease: queue.fail(lease, "error"),
        "cancel": lambda lease: queue.cancel(lease.task_id),
        "bury": lambda lease: queue.bury(),
    }
    for _ in range(10):
        task_id = queue.submit("deploy")
        lease = taken(queue)
        clock.sleep(61)
        found = together(2, lambda n, held=lease: acts[other](held) if n else queue.complete(held, "done"))  # type: ignore[misc]
        refused = [one for one in found if isinstance(one, Exception)]
        assert all(isinstance(one, StaleLease | InvalidTransition) for one in refused), refused
        status = "completed" if queue.get(task_id).state == TaskState.COMPLETED else "error"
        assert [status] == [told for told, _ in ends(queue, task_id)]


def test_priority(queue: TaskQueue) -> None:
    """A changed priority counts at the next claim; of a task that has ended it is refused."""
    first, second = queue.submit("first"), queue.submit("second")
    assert 9 == queue.set_priority(second, 9).priority
    lease = taken(queue)
    assert second == lease.task_id
    assert 3 == queue.set_priority(second, 3).priority  # also while it runs
    queue.complete(lease, "done")
    with pytest.raises(InvalidTransition):
        queue.set_priority(second, 1)
    assert first == taken(queue).task_id


def test_wait_before_and_after(queue: TaskQueue, clock: VirtualClock) -> None:
    """Waiters before and after the end get the same task, whichever end it is."""
    done, failed, gone = (queue.submit(name, priority=priority) for priority, name in enumerate(["c", "b", "a"]))
    queue.cancel(gone)
    queue.fail(taken(queue), "no")
    lease, at = taken(queue), clock.now() + timedelta(seconds=3)

    def complete_at_three() -> None:
        if clock.now() >= at and queue.get(done).state == TaskState.RUNNING:
            queue.complete(lease, "yes")

    clock.moved = complete_at_three
    assert "yes" == queue.wait(done).result == queue.wait(done, 0).result
    assert clock.now() - at < timedelta(seconds=0.5)
    assert ("no", TaskState.CANCELLED) == (queue.wait(failed).error, queue.wait(gone, timeout=1).state)


def test_many_waiters(engine: Engine) -> None:
    """Ten threads that wait for one task all get its end."""
    queue = TaskQueue(engine)
    task_id = queue.submit("deploy")
    found = list[Any]()
    waiters = threading.Thread(target=lambda: found.extend(together(10, lambda n: queue.wait(task_id, 30))))
    waiters.start()
    done = queue.complete(taken(queue), "done")
    waiters.join()
    assert [done] * 10 == found


def test_wait_timeout(queue: TaskQueue, clock: VirtualClock) -> None:
    """When the time is up it is a WaitTimeout (a TimeoutError, and not TaskNotFound); the task goes on."""
    task_id, began = queue.submit("deploy"), clock.monotonic()
    with pytest.raises(WaitTimeout) as caught:
        queue.wait(task_id, timeout=7)
    assert isinstance(caught.value, TimeoutError)
    assert (7, TaskState.PENDING) == (pytest.approx(clock.monotonic() - began), queue.get(task_id).state)


def test_poison_task(queue: TaskQueue, clock: VirtualClock) -> None:
    """A task that kills its worker at each attempt is started three times, then failed; others proceed."""
    poison, fine = queue.submit("poison", priority=9), queue.submit("fine")
    starts = 0
    while (task := queue.claim("w")) is not None:
        if task.id == poison:
            starts += 1  # the worker dies here, without a word
            clock.sleep(61)
        else:
            queue.complete(Lease.of(task), "done")
    assert (3, "failed", "lease expired x3") == (starts, queue.get(poison).state, queue.get(poison).error)
    assert [("error", "lease expired x3")] == ends(queue, poison)
    assert "completed" == queue.get(fine).state
    assert [poison] == [task.id for task in queue.dead_letters()]


def test_poison_with_errors_before(queue: TaskQueue, clock: VirtualClock) -> None:
    """A task that failed with an error first and lost its last lease keeps both reasons."""
    queue.submit("poison", max_attempts=2)
    queue.fail(taken(queue), "disk full", retry_in=0)
    taken(queue)
    clock.sleep(61)
    assert ["lease expired on attempt 2; before that: disk full"] == [task.error for task in queue.bury()]
    assert [] == queue.bury()


def test_a_lease_that_runs_is_not_buried(queue: TaskQueue, clock: VirtualClock) -> None:
    """On its last attempt a task lives as long as its lease is renewed."""
    queue.submit("long", max_attempts=1)
    lease = taken(queue)
    for _ in range(10):
        clock.sleep(30)
        lease = queue.heartbeat(lease)
        assert [] == queue.bury()
    queue.complete(lease, "done")


def test_redrive(queue: TaskQueue, clock: VirtualClock) -> None:
    """A redriven task is pending with all its attempts; its earlier run stays in the history, readers see the new one."""
    task_id = queue.submit("deploy", max_attempts=1)
    queue.fail(taken(queue), "no", retry_in=0)
    again = queue.redrive(task_id)
    assert (TaskState.PENDING, None, None) == (again.state, again.error, again.worker_id)
    assert [] == queue.progress.after(task_id)
    queue.complete(taken(queue), "yes")
    assert ([("error", "no"), ("completed", "")], 2) == (ends(queue, task_id), queue.get(task_id).attempt)
    assert ["completed"] == [one.status for _, one in queue.progress.after(task_id)]
    with pytest.raises(InvalidTransition):
        queue.redrive(task_id)


def test_zombie_of_the_old_run(queue: TaskQueue, clock: VirtualClock) -> None:
    """A worker that slept through the failure and the redrive of its task is no holder of the new run, under any name."""
    task_id = queue.submit("deploy", max_attempts=1)
    zombie = taken(queue, "w1")
    clock.sleep(61)
    queue.bury()
    queue.redrive(task_id)
    held = taken(queue, "w1")
    with pytest.raises(StaleLease):
        queue.complete(zombie, "zombie")
    assert "fresh" == queue.complete(held, "fresh").result


def test_two_recoverers(queue: TaskQueue) -> None:
    """Two who redrive from the same list: the second finds the task written since, changes nothing, and says so."""
    task_id = queue.submit("deploy")
    queue.fail(taken(queue), "no")
    first, second = queue.dead_letters(), queue.dead_letters()
    queue.redrive(first[0])
    queue.fail(taken(queue), "no again")  # claimed, and failed once more
    before = queue.get(task_id)
    with pytest.raises(StaleTask):
        queue.redrive(second[0])
    assert before == queue.get(task_id)
    assert TaskState.PENDING == queue.redrive(queue.dead_letters()[0]).state


def test_redrive_by_many(engine: Engine) -> None:
    """Ten who redrive one dead letter together: one new run."""
    queue = TaskQueue(engine)
    queue.submit("deploy")
    failed = queue.fail(taken(queue), "no")
    found = together(10, lambda n: queue.redrive(failed))
    assert 9 == sum(isinstance(one, StaleTask) for one in found)
    assert failed.version + 1 == queue.get(failed.id).version


def test_one_line(queue: TaskQueue) -> None:
    """A queue and a lease print one line."""
    queue.submit("deploy")
    lease = taken(queue)
    assert f"<Lease {lease.task_id} w1 attempt=1>" == str(lease)
    assert repr(queue).startswith("<TaskQueue ")
    assert repr(TaskQueue(queue.engine, max_pending=None)).endswith("unbounded>")
