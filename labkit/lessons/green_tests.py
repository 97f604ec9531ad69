"""Invariants of the lesson on testing tests: the sentence of a green suite first, and what becomes of it.

An invariant takes a run, as `labkit.Trace` tells it, and returns None when the run is fine, else one sentence. Each docstring says what it is bad at. A
twin takes a run as well and says whether it could have broken the invariant at all.

Not handled here: whom they catch (see `invariant_matrix`), and the other rules, which are the exercise.
"""

from __future__ import annotations

from labkit.invariants import Trace
from labkit.task import TaskState

OVER = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)


def every_task_completed(trace: Trace) -> str | None:
    """What the suite asserts. Cries wolf: a task may fail, and may be cancelled. Blind to all that happens on the way."""
    for task in trace.tasks.values():
        if task.state != TaskState.COMPLETED:
            return f"{task.id} is {task.state} at the end"
    return None


def every_task_ended(trace: Trace) -> str | None:
    """Each task that is there at the end has ended, well or not. Blind to one that is not there any more."""
    for task in trace.tasks.values():
        if task.state not in OVER:
            return f"{task.id} is {task.state} at the end"
    return None


def once_per_run(trace: Trace) -> str | None:
    """No effect happens twice. Cries wolf as soon as two customers pay."""
    seen = set()
    for event in trace.events:
        if event.kind == "effect":
            if event.name in seen:
                return f"{event.name} happened twice"
            seen.add(event.name)
    return None


def once_per_task(trace: Trace) -> str | None:
    """No effect happens twice for one task, whatever happened to its workers."""
    seen = set()
    for event in trace.events:
        if event.kind == "effect":
            if (event.task_id, event.name) in seen:
                return f"{event.name} happened twice for {event.task_id}"
            seen.add((event.task_id, event.name))
    return None


def worker_gone(trace: Trace) -> bool:
    """The twin of `every_task_ended`: a task was claimed again, although whoever held it had written nothing."""
    held: set[str] = set()
    for event in trace.events:
        if event.kind == "claimed" and event.task_id in held:
            return True
        if event.kind == "claimed":
            held.add(event.task_id)
        elif event.kind == "written":
            held.discard(event.task_id)
    return False


def begun_again(trace: Trace) -> bool:
    """The twin of `once_per_task`: a task was claimed after effects had happened for it."""
    begun = set()
    for event in trace.events:
        if event.kind == "claimed" and event.task_id in begun:
            return True
        if event.kind == "effect":
            begun.add(event.task_id)
    return False
