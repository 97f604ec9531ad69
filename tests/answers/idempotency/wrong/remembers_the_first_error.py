# wrong: an executor for the whole process that keeps the first error for ever, so that the next task that fails is told of another's
# diagnosed: another error comes out
from dataclasses import replace

from labkit import TaskNotFound, TaskState


class Executor:
    error = None

    def run(self, store, task_id, work):
        task = store.get(task_id)
        if task is None:
            raise TaskNotFound(task_id)
        if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
            return task
        task = store.save(replace(task, state=TaskState.RUNNING))
        try:
            result = work(task.user_input, task_id)
        except Exception as error:
            self.error = self.error or error
            store.save(replace(task, state=TaskState.FAILED, error=str(error)))
            raise self.error from None
        return store.save(replace(task, state=TaskState.COMPLETED, result=result))


executor = Executor()


def execute_task_if_not_done(store, task_id, work):
    return executor.run(store, task_id, work)
