# wrong: a result that does not look as in the example is stored as a failure
# diagnosed: the work returned, and its task is stored as failed
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
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    if result and not result.startswith("container"):
        return store.save(replace(task, state=TaskState.FAILED, error=f"odd: {result}"))
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
