# wrong: a new Task instead of a changed one: priority and idempotency key are gone
# diagnosed: its other fields are lost
from labkit import Task, TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task

    def to(state, version, **fields):
        return store.save(Task(task_id, task.user_input, state, version=version, **fields))

    running = to(TaskState.RUNNING, task.version)
    try:
        result = work(task.user_input, task_id)
    except Exception as error:
        to(TaskState.FAILED, running.version, error=str(error))
        raise
    return to(TaskState.COMPLETED, running.version, result=result)
