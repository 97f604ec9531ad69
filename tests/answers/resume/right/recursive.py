# right: recursion, each call takes the task one state further and calls itself
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work, *, mine=None):
    task = mine or store.get(task_id)
    if task is None:
        raise TaskNotFound()
    if mine is not None and task.state == TaskState.RUNNING:
        return resume_task(store, task_id, work, mine=store.save(end_of(store, task, work)))
    following = {
        TaskState.FAILED: dict(state=TaskState.PENDING, error=None),
        TaskState.PENDING: dict(state=TaskState.RUNNING),
        TaskState.WAITING: dict(state=TaskState.RUNNING),
        TaskState.RUNNING: dict(state=TaskState.RUNNING),
    }.get(task.state)
    return task if following is None else resume_task(store, task_id, work, mine=store.save(replace(task, **following)))


def end_of(store, task, work):
    try:
        return replace(task, state=TaskState.COMPLETED, result=work(task.user_input, task.id))
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
