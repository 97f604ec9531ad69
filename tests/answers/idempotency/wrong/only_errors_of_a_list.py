# wrong: a KeyError or RuntimeError of the work is in no list, so the task stays running
# diagnosed: only some kinds of errors are stored
from dataclasses import replace

from labkit import TaskNotFound, TaskState, TerminalError, TransientError


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except (ValueError, OSError, TransientError, TerminalError) as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
