# wrong: a `finally` writes failed unless the end was reached
# diagnosed: a crash or Ctrl-C is stored as a failure
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
    done = None
    text = "stopped"
    try:
        result = work(task.user_input, task.id)
        done = store.save(replace(task, state=TaskState.COMPLETED, result=result))
    except Exception as error:
        text = str(error)
        raise
    finally:
        if done is None:
            store.save(replace(task, state=TaskState.FAILED, error=text))
    return done
