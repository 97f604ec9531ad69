# wrong: the key is what was asked for, so two tasks with the same wish share one effect
# diagnosed: the key is the input
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.user_input)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
