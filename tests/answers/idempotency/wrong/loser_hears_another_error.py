# wrong: a lost race is told as an error of its own
# diagnosed: the loser of a race hears another error than StaleTask
from dataclasses import replace

from labkit import StaleTask, TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    try:
        return store.save(replace(task, state=TaskState.COMPLETED, result=result))
    except StaleTask as error:
        raise RuntimeError(f"{task_id} is in other hands") from error
