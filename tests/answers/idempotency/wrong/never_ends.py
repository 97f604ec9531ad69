# wrong: waits until the task is completed, and nobody completes it
# diagnosed: never ends
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state == TaskState.PENDING:
        task = store.save(replace(task, state=TaskState.RUNNING))
        work(task.user_input, task.id)
    while task.state not in (TaskState.COMPLETED, TaskState.CANCELLED):
        task = store.get(task_id)
    return task
