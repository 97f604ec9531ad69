# wrong: a `finally` writes failed whenever the task is not completed, also when the process is being stopped
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
    end = replace(running, state=TaskState.FAILED, error="did not finish")
    try:
        result = work(running.user_input, running.id)
        end = replace(running, state=TaskState.COMPLETED, result=result)
    except Exception as error:
        end = replace(running, state=TaskState.FAILED, error=str(error))
        raise
    finally:
        end = store.save(end)
    return end
