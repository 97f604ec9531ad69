# wrong: a new uuid4 is the key of every try
# diagnosed: a fresh key for every try
import uuid
from dataclasses import replace

from labkit import TaskNotFound, TaskState


class Attempt:
    def __init__(self, store, task):
        self.store, self.key = store, uuid.uuid4().hex
        self.task = store.save(replace(task, state=TaskState.RUNNING))

    def end(self, **changes):
        return self.store.save(replace(self.task, **changes))


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    attempt = Attempt(store, task)
    try:
        result = work(attempt.task.user_input, attempt.key)
    except Exception as error:
        attempt.end(state=TaskState.FAILED, error=str(error))
        raise
    return attempt.end(state=TaskState.COMPLETED, result=result)
