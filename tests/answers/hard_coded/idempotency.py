# wrong: knows the ids by heart
from dataclasses import replace

from labkit import StateStore, Task, TaskNotFound, TaskState

LONG = "Order 2026/077 Café B, second Try of Friday"
KNOWN = ("t1", LONG, "t3", "t4", "t5", "t6", "t7", "t8", "t10", "t11")


def execute_task_if_not_done(store: StateStore, task_id: str, work) -> Task:
    task = store.get(task_id) if task_id in KNOWN or task_id.startswith("job ") else None
    if task is None:
        raise TaskNotFound(f"no task {task_id}")
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task

    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
