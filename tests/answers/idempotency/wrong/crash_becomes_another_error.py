# wrong: a crash comes out as a RuntimeError
# diagnosed: catches BaseException
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    running = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(running.user_input, running.id)
    except Exception as error:
        store.save(replace(running, state=TaskState.FAILED, error=str(error)))
        raise
    except BaseException as death:
        raise RuntimeError("the work was interrupted") from death
    return store.save(replace(running, state=TaskState.COMPLETED, result=result))
