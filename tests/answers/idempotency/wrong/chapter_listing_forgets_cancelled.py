# wrong: only completed is looked at, as in the chapter's listing: a cancelled task is run
# diagnosed: a cancelled task is worked on again
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(f"task not found: {task_id}")
    if task.state == TaskState.COMPLETED:
        return task
    if task.state != TaskState.CANCELLED:
        task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
