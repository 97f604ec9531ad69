# wrong: reads the task and hands it back, nothing else
# diagnosed: does nothing
from labkit import TaskNotFound


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    return task
