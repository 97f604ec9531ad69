# wrong: KeyboardInterrupt goes through, every other BaseException is booked as a failure
# diagnosed: a crash or Ctrl-C is stored as a failure
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
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        store.save(replace(running, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(running, state=TaskState.COMPLETED, result=result))
