# wrong: an unknown task is made up and run
# diagnosed: an unknown id creates a task
from dataclasses import replace

from labkit import Task, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id) or Task(task_id, task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
