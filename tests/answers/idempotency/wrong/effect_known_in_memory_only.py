# wrong: instead of a key, a module-level set remembers whose work was done; the set dies with the process
# diagnosed: a fresh key for every try
import time
from dataclasses import replace

from labkit import TaskNotFound, TaskState

results = {}


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        if task_id not in results:
            results[task_id] = work(task.user_input, f"{task_id}-{time.time_ns()}")
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=results[task_id]))
