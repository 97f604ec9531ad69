# wrong: stores the end and hands back the copy that it sent, not the one that is stored
# diagnosed: does not hand back what is stored
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        end = replace(task, state=TaskState.COMPLETED, result=work(task.user_input, task.id))
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    store.save(end)
    return end
