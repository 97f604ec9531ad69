# right: a match over the state; each step stores and calls itself with the stored copy
from dataclasses import replace

from labkit import Task, TaskNotFound, TaskState


def _advance(store, task, work, ours):
    match task:
        case None:
            raise TaskNotFound
        case Task(state=TaskState.COMPLETED | TaskState.CANCELLED):
            return task
        case Task(state=TaskState.RUNNING) if ours:
            try:
                text = work(task.user_input, task.id)
            except Exception as problem:
                store.save(replace(task, state=TaskState.FAILED, error=repr(problem)))
                raise problem
            return _advance(store, store.save(replace(task, state=TaskState.COMPLETED, result=text)), work, ours)
        case Task():
            return _advance(store, store.save(replace(task, state=TaskState.RUNNING)), work, True)


def execute_task_if_not_done(store, task_id, work):
    return _advance(store, store.get(task_id), work, False)
