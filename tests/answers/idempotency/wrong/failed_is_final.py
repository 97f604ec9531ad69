# wrong: a failed task is taken for a finished one
# diagnosed: a task found failed is left alone
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    match store.get(task_id):
        case None:
            raise TaskNotFound(task_id)
        case task if task.state in (TaskState.PENDING, TaskState.RUNNING, TaskState.WAITING):
            pass
        case task:
            return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
