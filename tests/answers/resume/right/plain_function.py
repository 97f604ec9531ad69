# right: the chapter's step six, with a key, versions and all six states
from dataclasses import replace

from labkit import StateStore, Task, TaskNotFound, TaskState


def resume_task(store: StateStore, task_id: str, work) -> Task:
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(f"task not found: {task_id}")
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))

    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
