# right: a small machine that loops until the task stands still; a lost race hands back what is stored
from dataclasses import replace

from labkit import StaleTask, TaskNotFound, TaskState


class Machine:
    def __init__(self, store, task, work):
        self.store, self.task, self.work, self.begun = store, task, work, False

    def go(self, state, **fields):
        self.task = self.store.save(replace(self.task, state=state, **fields))

    def step(self):
        if self.task.state is TaskState.FAILED:
            self.go(TaskState.PENDING, error=None)
        elif not self.begun:
            self.go(TaskState.RUNNING)
            self.begun = True
        else:
            self.finish()

    def finish(self):
        try:
            result = self.work(self.task.user_input, self.task.id)
        except Exception as error:
            self.go(TaskState.FAILED, error=str(error))
            raise
        self.go(TaskState.COMPLETED, result=result)

    def run(self):
        while self.task.state not in (TaskState.COMPLETED, TaskState.CANCELLED):
            self.step()
        return self.task


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    try:
        return Machine(store, task, work).run()
    except StaleTask:
        return store.get(task_id)
