# wrong: the chapter's listing: check-then-act, the work gets no key, so what a crash forgot is done again
# diagnosed: check-then-act without a key
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(f"task not found: {task_id}")
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task  # done already

    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, None)
    except Exception as error:
        task = store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
