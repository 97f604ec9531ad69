# wrong: happy path only, an error of the work leaves the task running
# diagnosed: a failure is not stored
from dataclasses import replace

from labkit import TaskNotFound


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in ("completed", "cancelled"):
        return task
    task = store.save(replace(task, state="running"))
    return store.save(replace(task, state="completed", result=work(task.user_input, task_id)))
