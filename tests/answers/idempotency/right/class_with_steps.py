# right: an object that carries the newest stored copy from step to step
from dataclasses import replace

from labkit import TaskNotFound, TaskState


class Run:
    OVER = {"completed", "cancelled"}

    def __init__(self, store, task_id):
        self.store = store
        self.task = store.get(task_id)
        if self.task is None:
            raise TaskNotFound(task_id)

    @property
    def over(self):
        return self.task.state in self.OVER

    def write(self, **changes):
        self.task = self.store.save(replace(self.task, **changes))

    def do(self, work):
        self.write(state=TaskState.RUNNING, error=None)
        try:
            result = work(self.task.user_input, self.task.id)
        except Exception as error:
            self.write(state=TaskState.FAILED, error=f"{type(error).__name__}: {error}")
            raise
        else:
            self.write(state=TaskState.COMPLETED, result=result)


def execute_task_if_not_done(store, task_id, work):
    run = Run(store, task_id)
    if not run.over:
        run.do(work)
    return run.task
