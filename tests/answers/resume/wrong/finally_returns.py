# wrong: a `return` inside `finally` swallows whatever is on its way, the work's own error too
# diagnosed: a crash or Ctrl-C is turned into something else
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))

    task = store.save(replace(task, state=TaskState.RUNNING))
    end = task
    try:
        result = work(task.user_input, task.id)
        end = replace(task, state=TaskState.COMPLETED, result=result)
    except Exception as error:
        end = replace(task, state=TaskState.FAILED, error=str(error))
        raise
    finally:
        return store.save(end) if end is not task else task
