# wrong: looks for the store's file and writes into it with sqlite3, which works on one kind of store at most
# diagnosed: fails on its own
import sqlite3
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    file = sqlite3.connect(store._engine.url.database)
    with file:
        file.execute("UPDATE tasks SET state = 'running', version = version + 1 WHERE id = ?", (task_id,))
    file.close()
    task = store.get(task_id)
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
