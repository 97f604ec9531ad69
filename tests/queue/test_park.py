"""Parking: a task that waits for a person, and what answers, cancels, crashes and zombies do to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.clock import VirtualClock
from labkit.errors import InvalidTransition, StaleLease, TaskNotFound, UnstorableValue
from labkit.faults import End, Scenario, interleave, sweep
from labkit.faults.process import Process
from labkit.queue import Job, Lease, TaskQueue, Worker
from labkit.queue.park import Question
from labkit.store import SqlStore
from labkit.task import TaskState
from tests.queue.helpers import Ticks, ends, taken

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def test_parked(queue: TaskQueue, clock: VirtualClock) -> None:
    """A parked task waits with its question; nobody holds it, nobody gets it, and no lease of it can end."""
    task_id = queue.submit("deploy")
    parked = queue.park(taken(queue), "Delete the old database?")
    assert (TaskState.WAITING, None, None, 1) == (parked.state, parked.worker_id, parked.lease_expires_at, parked.attempt)
    assert (parked, Question("Delete the old database?")) == (queue.get(task_id), queue.question(task_id))
    clock.sleep(10_000)
    assert (None, [], []) == (queue.claim("w2"), queue.bury(), ends(queue, task_id))


def test_answered(queue: TaskQueue, clock: VirtualClock) -> None:
    """The answer makes it pending and due now; the attempt that asked does not count; the answer stays over a failure."""
    task_id = queue.submit("deploy", max_attempts=2)
    queue.park(taken(queue), "Really?")
    assert TaskState.PENDING == queue.answer(task_id, "yes").state
    queue.fail(taken(queue), "disk full", retry_in=0)
    assert Question("Really?", "yes") == queue.question(task_id)
    queue.complete(taken(queue), "done")
    assert [("completed", "")] == ends(queue, task_id)


def test_the_question_is_told(queue: TaskQueue) -> None:
    """Each question is an entry of the log, of its run and where the steps were; it ends nothing, and the end comes once."""
    task_id = queue.submit("deploy")
    for question in ("Really?", "Really, really?"):
        Job(queue, queue.claim("w1")).tell(2, "thinking", total_step=5)  # type: ignore[arg-type]
        queue.park(Lease.of(queue.get(task_id)), question)
        queue.answer(task_id, "yes")
    queue.fail(taken(queue), "no")
    queue.redrive(task_id)
    queue.park(taken(queue), "Once more?")
    assert [(0, 0, "Once more?", True, False)] == [
        (u.step, u.total_step, u.message, u.waiting, u.terminal) for _, u in queue.progress.after(task_id)
    ]
    queue.cancel(task_id)
    told = [update for _, update in queue.progress.history(task_id)]
    assert ["Really?", "Really, really?", "Once more?"] == [u.message for u in told if u.waiting]
    assert [(2, 5), (2, 5)] == [(u.step, u.total_step) for u in told if u.waiting][:2]
    assert [("error", "no"), ("error", "cancelled")] == ends(queue, task_id)


@pytest.mark.parametrize("database", DATABASES)
def test_waiting_and_told(database: str) -> None:
    """Crashed anywhere, any number of times: a task waits exactly where its question is the last entry of the log."""

    def run(process: Process) -> str:
        queue = TaskQueue(process.engine, clock=process.clock, now=process.clock.now)
        task_id = queue.submit("deploy", idempotency_key="k")
        if (task := queue.claim("w1")) is not None:
            queue.park(Lease.of(task), "Really?")
        return queue.get(task_id).state

    def both(end: End) -> str | None:
        told = [(row["message"], row["terminal"]) for row in end.rows.get("progress_log", ())]
        waits = any(task["state"] == "waiting" for task in end.tasks.values())
        return None if told == [("Really?", False)] * waits else f"waits: {waits}, told: {told}"

    report = sweep(Scenario("parks", run, [both], goal=lambda end: end.last.value == "waiting"), database)
    assert "holds" == report.verdict, report


def test_answers_that_come_too_late(queue: TaskQueue) -> None:
    """The first answer counts; one to a task that does not wait, or to none at all, changes nothing."""
    task_id = queue.submit("deploy")
    with pytest.raises(InvalidTransition):
        queue.answer(task_id, "nobody asked")
    queue.park(taken(queue), "Really?")
    queue.answer(task_id, "yes")
    with pytest.raises(InvalidTransition):
        queue.answer(task_id, "no")
    assert "yes" == queue.question(task_id).answer
    for call in (queue.question, lambda name: queue.answer(name, "yes")):
        with pytest.raises(TaskNotFound):
            call("nobody")


def test_asked_again(queue: TaskQueue) -> None:
    """A second question has no answer yet, and a new run of a failed task has neither."""
    task_id = queue.submit("deploy")
    queue.park(taken(queue), "Really?")
    queue.answer(task_id, "yes")
    queue.park(taken(queue), "Really, really?")
    assert Question("Really, really?") == queue.question(task_id)
    queue.answer(task_id, "yes")
    queue.fail(taken(queue), "no")
    queue.redrive(task_id)
    assert Question() == queue.question(task_id)


def test_store_may_unpark(queue: TaskQueue) -> None:
    """A waiting task may also go on by a save: to pending or to running. One that a store parked can be answered."""
    store = SqlStore(queue.engine)
    for state in (TaskState.PENDING, TaskState.RUNNING):
        task_id = queue.submit("deploy", priority=1)
        queue.park(taken(queue), "Really?")
        assert state == store.save(replace(queue.get(task_id), state=state)).state
    other = queue.submit("by hand", priority=2)
    running = queue.claim("w1")
    assert running is not None
    store.save(replace(running, state=TaskState.WAITING, worker_id=None, lease_expires_at=None))
    assert TaskState.PENDING == queue.answer(other, "yes").state


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_unstorable(queue: TaskQueue, text: str) -> None:
    """A question or an answer that no store can hold changes nothing."""
    task_id = queue.submit("deploy")
    lease = taken(queue)
    with pytest.raises(UnstorableValue):
        queue.park(lease, text)
    queue.park(lease, "Really?")
    with pytest.raises(UnstorableValue):
        queue.answer(task_id, text)
    assert TaskState.WAITING == queue.get(task_id).state


def test_worker_asks(queue: TaskQueue, clock: VirtualClock) -> None:
    """A handler asks, its worker goes on with other tasks; after the answer the handler is run again and hears it."""
    first, other = queue.submit("deploy", max_attempts=1, priority=1), queue.submit("mail")

    def handle(job: Job) -> str:
        return f"told {job.ask('Really?')}" if job.user_input == "deploy" else "sent"

    worker = Worker(queue, handle, "w1", every=Ticks(clock))
    assert (1, TaskState.WAITING) == (worker.run_until_idle(), queue.get(first).state)
    queue.answer(first, "yes")
    assert (1, "told yes", "sent") == (worker.run_until_idle(), queue.get(first).result, queue.get(other).result)
    assert (0, 0) == (worker.failed, worker.lost)


def test_worker_asks_nonsense(queue: TaskQueue, clock: VirtualClock) -> None:
    """A question that cannot be stored fails the task once."""
    task_id = queue.submit("deploy")
    Worker(queue, lambda job: job.ask("a\x00b"), "w1", every=Ticks(clock)).run_until_idle()
    assert (TaskState.FAILED, 1) == (queue.get(task_id).state, queue.get(task_id).attempt)


@pytest.mark.parametrize("database", DATABASES)
def test_answer_against_cancel(database: str) -> None:
    """Of an answer and a cancel in every order the task ends cancelled with one event, whoever came first."""

    def open_queue(process: Process) -> TaskQueue:
        return TaskQueue(process.engine, clock=process.clock, now=process.clock.now)

    def setup(process: Process) -> None:
        queue = open_queue(process)
        task_id = queue.submit("deploy", idempotency_key="k")
        queue.park(Lease.of(queue.claim("w1") or queue.get(task_id)), "Really?")

    def known(queue: TaskQueue) -> str:
        return queue.submit("deploy", idempotency_key="k")

    def answer(process: Process) -> str:
        queue = open_queue(process)
        try:
            return queue.answer(known(queue), "yes").state
        except InvalidTransition:
            return "too late"

    def cancel(process: Process) -> str:
        queue = open_queue(process)
        return queue.cancel(known(queue)).state

    def one_end(end: End) -> str | None:
        (task,) = end.tasks.values()
        told = [row["status"] for row in end.rows["progress_log"] if row["terminal"]]
        said = [outcome.value for outcome in end.outcomes]
        fine = (task["state"], told, said[1]) == ("cancelled", ["error"], "cancelled") and said[0] in ("pending", "too late")
        return None if fine else f"{task}, {told}, {end.outcomes}"

    made = Scenario("answer", [answer, cancel], [one_end], setup=setup, goal=lambda end: end.outcomes[0].value == "too late")
    report = interleave(made, database, preemptions=1)
    assert "holds" == report.verdict, report


def test_zombie_parks_nothing(queue: TaskQueue, clock: VirtualClock) -> None:
    """Who lost its lease cannot park the task of its successor, and leaves no question behind."""
    task_id = queue.submit("deploy")
    zombie = taken(queue)
    clock.sleep(61)
    held = taken(queue)
    with pytest.raises(StaleLease):
        queue.park(zombie, "Really?")
    assert (Question(), TaskState.COMPLETED) == (queue.question(task_id), queue.complete(held, "done").state)
    assert ["completed"] == [update.status for _, update in queue.progress.history(task_id)]
