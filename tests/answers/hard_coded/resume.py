# wrong: knows the ids by heart
from dataclasses import replace

from labkit import StateStore, Task, TaskNotFound, TaskState

LONG = "Order 2026/077 Café B, second Try of Friday"
KNOWN = ("t1", LONG, "t3", "t4", "t5", "t6", "t7", "t8", "t10", "t11", "t13")


def resume_task(store: StateStore, task_id: str, work) -> Task:
    task = store.get(task_id) if task_id in KNOWN or task_id.startswith("job ") else None
    if task is None:
        raise TaskNotFound(f"task not found: {task_id}")
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))

    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
