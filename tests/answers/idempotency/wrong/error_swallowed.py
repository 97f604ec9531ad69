# wrong: the failure is stored and the task handed back, as if nothing had been raised
# diagnosed: the error of the work is swallowed
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
        end = replace(task, state=TaskState.COMPLETED, result=work(task.user_input, task.id))
    except Exception as error:
        end = replace(task, state=TaskState.FAILED, error=str(error))
    return store.save(end)
