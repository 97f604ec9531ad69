# wrong: assigns to the fields of a task, which is frozen
# diagnosed: raises an error of its own
from labkit import TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    result = work(task.user_input, task_id)
    task.state = TaskState.COMPLETED
    task.result = result
    return store.save(task)
