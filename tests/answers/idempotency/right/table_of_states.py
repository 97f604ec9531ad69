# right: what to do with each state stands in a table; a lost start is tried again from the beginning
from dataclasses import replace
from functools import partial

from labkit import StaleTask, TaskNotFound, TaskState


def hand_back(task, store, work):
    return task


def finish(save, result):
    return save(state=TaskState.COMPLETED, result=result, error=None)


def run(task, store, work):
    try:
        begun = store.save(replace(task, state=TaskState.RUNNING))
    except StaleTask:
        return execute_task_if_not_done(store, task.id, work)

    def save(**end):
        return store.save(replace(begun, **end))

    try:
        then = partial(finish, save, work(begun.user_input, begun.id))
    except Exception as error:
        save(state=TaskState.FAILED, error=str(error))
        raise
    return then()


WHAT_TO_DO = {state: hand_back if state in ("completed", "cancelled") else run for state in TaskState}


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(f"nobody stored {task_id!r}")
    return WHAT_TO_DO[task.state](task, store, work)
