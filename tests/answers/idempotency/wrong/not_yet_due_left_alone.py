# wrong: a task that is due later is left alone, though it was asked for by its id
# diagnosed: a task is left alone for its time or its priority
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED) or (task.state == TaskState.PENDING and task.available_at > task.created_at):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task_id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
