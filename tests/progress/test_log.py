"""The progress log: who may append, what a reader gets, and that there is one end."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine, insert, update
from sqlalchemy.exc import IntegrityError

from labkit.clock import VirtualClock
from labkit.errors import InvalidTransition, StaleLease, TaskNotFound, UnstorableValue
from labkit.progress import ProgressLog, ProgressUpdate
from labkit.progress.log import append_end
from labkit.progress.update import PERSON, STATUSES
from labkit.queue import Job, Lease, TaskQueue
from labkit.tables import progress_log, tasks


@pytest.fixture
def queue(engine: Engine, clock: VirtualClock) -> TaskQueue:
    return TaskQueue(engine, clock=clock, now=clock.now)


@pytest.fixture
def job(queue: TaskQueue) -> Job:
    """A task under way."""
    queue.submit("deploy")
    task = queue.claim("w1")
    assert task is not None
    return Job(queue, task)


def test_update() -> None:
    """The fields and defaults of the contract; terminal are completed and error."""
    update = ProgressUpdate(task_id="t1", step=1, status="thinking")
    assert ("", 0, "", None) == (update.message, update.total_step, update.tool, update.time)
    assert ["completed", "error"] == [s for s in STATUSES if ProgressUpdate(task_id="t", step=1, status=s).terminal]  # type: ignore[arg-type]
    assert update == ProgressUpdate.model_validate_json(update.model_dump_json())


@pytest.mark.parametrize("wrong", [{"status": "done"}, {"time": datetime(2026, 1, 5)}, {"step": "x"}])
def test_update_refuses(wrong: dict[str, object]) -> None:
    """A status that is none, a time without a zone and a step that is no number are refused."""
    with pytest.raises(ValidationError):
        ProgressUpdate(**{"task_id": "t1", "step": 1, "status": "thinking", **wrong})  # type: ignore[arg-type]


def test_append_and_read(job: Job, queue: TaskQueue) -> None:
    """What a handler tells is read in order, from any position on, and the end closes it."""
    positions = [job.tell(1, "thinking", "hm\nhm"), job.tell(2, "tool_call", total_step=3, tool="dns")]
    queue.complete(job.lease, "done")
    read = queue.progress.after(job.task.id)
    assert positions == [position for position, _ in read[:2]] == sorted(positions)
    assert [(1, "thinking", "hm\nhm", 0, ""), (2, "tool_call", "", 3, "dns"), (2, "completed", "", 3, "")] == [
        (u.step, u.status, u.message, u.total_step, u.tool) for _, u in read
    ]
    assert all(u.time is not None and u.time.tzinfo is not None for _, u in read)
    assert read[1:] == queue.progress.after(job.task.id, positions[0])
    assert [] == queue.progress.after(job.task.id, read[-1][0])


def test_given_time(job: Job, queue: TaskQueue) -> None:
    """A given time is kept."""
    at = datetime(2026, 1, 5, 9, 0, 0, 123456, tzinfo=UTC)
    queue.progress.append(ProgressUpdate(task_id=job.task.id, step=1, status="thinking", time=at))
    assert [at] == [u.time for _, u in queue.progress.after(job.task.id)]


def test_exists(job: Job, queue: TaskQueue) -> None:
    """A task exists before its first event; an unknown one has no events."""
    log = ProgressLog(queue.engine)
    assert (True, False, []) == (log.exists(job.task.id), log.exists("nobody"), log.after("nobody"))


def test_zombie_tells_nothing(job: Job, queue: TaskQueue, clock: VirtualClock) -> None:
    """Who lost its lease appends nothing."""
    clock.sleep(61)
    queue.claim("w1")
    with pytest.raises(StaleLease):
        job.tell(1, "thinking")
    assert [] == queue.progress.after(job.task.id)


def test_nothing_after_the_end(job: Job, queue: TaskQueue) -> None:
    """After the terminal event nothing can be appended, with a lease or without; the end itself cannot be told."""
    plain = ProgressUpdate(task_id=job.task.id, step=1, status="thinking")
    queue.cancel(job.task.id)
    with pytest.raises(InvalidTransition):
        queue.progress.append(plain)
    with pytest.raises(StaleLease):
        queue.progress.append(plain, job.lease)
    with pytest.raises(ValueError):
        queue.progress.append(plain.model_copy(update={"status": "completed"}))
    assert ["error"] == [u.status for _, u in queue.progress.after(job.task.id)]


def test_nobody_but_the_queue_says_that_a_task_waits(job: Job, queue: TaskQueue) -> None:
    """A question is told with the change of state; a handler that names the person as a tool is refused, or may say it of a tool call."""
    with pytest.raises(ValueError, match="park the task"):
        job.tell(1, "thinking", "Really?", tool=PERSON)
    job.tell(1, "tool_call", "Really?", tool=PERSON)
    assert [False] == [u.waiting for _, u in queue.progress.after(job.task.id)]


def test_unknown_task(queue: TaskQueue) -> None:
    """Nobody appends to a task that is not there."""
    with pytest.raises(TaskNotFound):
        queue.progress.append(ProgressUpdate(task_id="nobody", step=1, status="thinking"))


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_unstorable(job: Job, text: str) -> None:
    """A message that no store can hold is refused with its path."""
    with pytest.raises((UnstorableValue, ValidationError)):
        job.tell(1, "thinking", text)


def test_end_needs_the_state(job: Job, queue: TaskQueue) -> None:
    """The terminal event cannot be written for a task that goes on."""
    with pytest.raises(InvalidTransition), queue.engine.begin() as connection:
        append_end(connection, job.task.id)
    assert [] == queue.progress.after(job.task.id)


def test_the_table_refuses_a_second_end(job: Job, queue: TaskQueue) -> None:
    """A second terminal event of one run is refused by the table itself, whoever writes it."""
    queue.complete(job.lease, "done")
    second = {"task_id": job.task.id, "step": 1, "status": "error", "terminal": True}
    with pytest.raises(IntegrityError), queue.engine.begin() as connection:
        connection.execute(insert(progress_log).values(second))


def test_an_end_after_a_foreign_write(job: Job, queue: TaskQueue) -> None:
    """A task that somebody put back past the queue still ends, with an event of its own run."""
    queue.fail(job.lease, "no")
    with queue.engine.begin() as connection:
        connection.execute(update(tasks).values(state="pending"))
    task = queue.claim("w1")
    assert task is not None
    queue.complete(Lease.of(task), "yes")
    assert ["error", "completed"] == [u.status for _, u in queue.progress.history(task.id)]
    assert ["completed"] == [u.status for _, u in queue.progress.after(task.id)]


def test_appends_race_with_the_end(engine: Engine) -> None:
    """Threads append while the task ends: positions rise, the terminal event is the last one."""
    queue = TaskQueue(engine)
    queue.submit("deploy")
    task = queue.claim("w1")
    assert task is not None
    job, barrier = Job(queue, task), threading.Barrier(4)

    def tell() -> None:
        barrier.wait()
        try:
            for step in range(5):
                job.tell(step, "thinking")
        except StaleLease:
            return

    threads = [threading.Thread(target=tell) for _ in range(3)]
    for thread in threads:
        thread.start()
    barrier.wait()
    queue.complete(job.lease, "done")
    for thread in threads:
        thread.join()
    read = queue.progress.after(task.id)
    assert [position for position, _ in read] == sorted({position for position, _ in read})
    assert [True] == [u.terminal for _, u in read if u.terminal] == [read[-1][1].terminal]


def test_one_line(queue: TaskQueue) -> None:
    """One line says what a log and an update are."""
    assert repr(queue.progress).startswith("<ProgressLog ")
    assert "<ProgressUpdate t1 1/3 thinking>" == repr(
        ProgressUpdate(task_id="t1", step=1, total_step=3, status="thinking")
    )
