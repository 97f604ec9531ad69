"""The last event of a task: who writes it, in which commit, and what a page is left with when nobody does.

`ending` tries ways for a task to end, `dying` any crash around the commit that ends it. `one_commit` is the library's way; the others are broken on purpose.

Not handled here: what is told on the way (see `streams`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy import insert

from labkit.database import writing
from labkit.faults import End, Process, Scenario
from labkit.lessons.queues import open_queue
from labkit.progress.log import append_end
from labkit.progress.update import TERMINAL
from labkit.queue import Lease, TaskQueue
from labkit.queue.change import change
from labkit.queue.lease import held
from labkit.tables import progress_log
from labkit.task import TaskState

TASK = "task-1"
ENDED = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
PATHS = {"an answer": "completed", "an error": "error", "Cancel": "error", "its last worker dies": "error"}
Finish = Callable[[TaskQueue, Lease], None]


def handler_says(process: Process, queue: TaskQueue, path: str) -> list[str]:
    """The handler tells that it is done. Breaks wherever it does not come so far: the page waits for ever."""
    told = ["thinking"]
    try:
        attempt(queue, path)
        told.append("completed")
    except Left as left:
        process.note("the handler is left", str(left))
    return told


def queue_says(process: Process, queue: TaskQueue, path: str) -> list[str]:
    """The library's: whoever ends the task writes its last event, and the page reads the log."""
    try:
        attempt(queue, path)
    except Left as left:
        process.note("the handler is left", str(left))
    return [update.status for _, update in queue.progress.after(TASK)]


class Left(Exception):
    """The handler does not come to its last line."""


def attempt(queue: TaskQueue, path: str) -> None:
    """The one attempt of the task, which ends in this way."""
    lease = claimed(queue)
    if path == "an answer":
        queue.complete(lease, "there is room")
        return
    if path == "an error":
        queue.fail(lease, "401: this key is not known")
    elif path == "Cancel":
        queue.cancel(TASK)
    else:
        queue.clock.sleep(queue.lease_seconds + 1)
        queue.bury()
    raise Left(path)


def claimed(queue: TaskQueue) -> Lease:
    """The lease of the one task."""
    task = queue.claim("w1")
    assert task is not None
    return Lease.of(task)


Says = Callable[[Process, TaskQueue, str], list[str]]


def ending(says: Says, path: str) -> Scenario:
    """A task that ends in this way, and a page that waits for its last event."""
    rules = [partial(one_last_event, path=path)]
    return Scenario(f"ending.{says.__name__}", partial(_ends, says=says, path=path), rules)


def _ends(process: Process, says: Says, path: str) -> str:
    queue = open_queue(process.clock, engine=process.engine, max_attempts=1)
    queue.submit("Make room on web-1.")
    return " ".join(status for status in says(process, queue, path) if status in TERMINAL)


def one_last_event(end: End, path: str) -> str | None:
    """An invariant: there is one last event, and it is the right one."""
    return None if end.last.value == PATHS[path] else str(end.last.value) or "nothing: it waits for ever"


def state_first(queue: TaskQueue, lease: Lease) -> None:
    """The state, then the event. Breaks on a crash between the two: it is completed, and nobody will ever say so."""
    _completed(queue, lease)
    # crash here: the task has ended, and its log has not
    with writing(queue.engine) as connection:
        append_end(connection, lease.task_id)


def event_first(queue: TaskQueue, lease: Lease) -> None:
    """The event, then the state. Breaks on a crash between the two: the page has seen the end of a task that runs."""
    event = {"task_id": TASK, "attempt": lease.attempt, "step": 1, "status": "completed", "terminal": True}
    with writing(queue.engine) as connection:
        connection.execute(insert(progress_log).values(**event, time=queue.clock.now()))
    # crash here: the log has ended, and its task has not
    _completed(queue, lease)


def one_commit(queue: TaskQueue, lease: Lease) -> None:
    """The library's: both, or neither."""
    queue.complete(lease, "there is room")


def _completed(queue: TaskQueue, lease: Lease) -> None:
    with writing(queue.engine) as connection:
        values = {"state": TaskState.COMPLETED.value, "result": "there is room"}
        change(connection, queue.clock.now(), values, *held(lease))


def dying(finish: Finish) -> Scenario:
    """A worker that ends its task; whoever comes after a crash waits for the lease and does it again."""
    run = partial(_finishes, finish=finish)
    return Scenario(
        finish.__name__, run, [event_and_state], setup=_submit, goal=lambda end: end.last.value == "completed"
    )


def _submit(process: Process) -> None:
    open_queue(process.clock, engine=process.engine).submit("Make room on web-1.")


def _finishes(process: Process, finish: Finish) -> str:
    queue = open_queue(process.clock, engine=process.engine, max_attempts=100)
    if queue.get(TASK).state is TaskState.RUNNING:
        process.clock.sleep(queue.lease_seconds + 1)
    if queue.get(TASK).state not in ENDED:
        finish(queue, claimed(queue))
    return str(queue.get(TASK).state)


def event_and_state(end: End) -> str | None:
    """An invariant: a task that has ended has one last event, and it is of the attempt that ended it."""
    task = end.tasks[TASK]
    told = [row["attempt"] for row in end.rows.get("progress_log", ()) if row["terminal"]]
    if task["state"] not in ENDED:
        return f"{task['state']}, and the page has seen the end" if told else None
    if not told:
        return f"{task['state']}, and no event says so"
    return None if told == [task["attempt"]] else "the page saw the end, and the task was run again"
