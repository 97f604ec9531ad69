# right: a context manager owns the attempt and books a failure; the end is read back from the store
from contextlib import contextmanager
from dataclasses import replace
from traceback import format_exception_only

import labkit


@contextmanager
def attempt(store, task):
    running = store.save(replace(task, state=labkit.TaskState.RUNNING))
    try:
        yield running
    except Exception as error:
        text = "".join(format_exception_only(error)).strip()
        store.save(replace(running, state=labkit.TaskState.FAILED, error=text))
        raise


def execute_task_if_not_done(store, task_id, work):
    found = store.get(task_id)
    if not found:
        raise labkit.TaskNotFound(task_id)
    if found.state not in {labkit.TaskState.COMPLETED, labkit.TaskState.CANCELLED}:
        with attempt(store, found) as running:
            result = work(running.user_input, running.id)
        store.save(replace(running, state=labkit.TaskState.COMPLETED, result=result))
    return store.get(task_id)
