# right: a failed task goes to running at once; the old error is cleared at the end
import dataclasses

import labkit
from labkit import TaskState as S


def resume_task(store, task_id, work):
    def put(task, state, **changes):
        return store.save(dataclasses.replace(task, state=state, **changes))

    match store.get(task_id):
        case None:
            raise labkit.TaskNotFound(task_id)
        case labkit.Task(state=S.COMPLETED | S.CANCELLED) as over:
            return over
        case found:
            running = put(found, S.RUNNING)
    try:
        text = work(running.user_input, running.id)
    except Exception as why:
        put(running, S.FAILED, error=repr(why))
        raise
    return put(running, S.COMPLETED, result=text, error=None)
