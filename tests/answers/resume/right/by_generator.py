# right: the way through the states as a generator of changes, one driver that saves them
from dataclasses import replace

from labkit import TaskNotFound


def way(task, work):
    if task.state == "failed":
        task = yield {"state": "pending", "error": None}
    if task.state not in ("completed", "cancelled"):
        task = yield {"state": "running"}
        problem = None
        try:
            changes = {"state": "completed", "result": work(task.user_input, task.id)}
        except Exception as error:
            problem, changes = error, {"state": "failed", "error": str(error)}
        yield changes
        if problem:
            raise problem


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    changes = way(task, work)
    try:
        wanted = next(changes)
        while True:
            task = store.save(replace(task, **wanted))
            wanted = changes.send(task)
    except StopIteration:
        return task
