# wrong: a key made once per process is another one after the restart
# diagnosed: a fresh key for every try
import uuid
from dataclasses import replace

from labkit import TaskNotFound, TaskState


RUN = uuid.uuid4()


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))

    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, f"{task.id}:{RUN}")
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
