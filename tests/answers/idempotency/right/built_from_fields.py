# right: no dataclasses.replace, the next task is built from the fields of the last one; keyword arguments everywhere
from dataclasses import fields

from labkit import Task, TaskNotFound, TaskState


def changed(task: Task, **new) -> Task:
    return Task(**({field.name: getattr(task, field.name) for field in fields(Task)} | new))


class Executor:
    """Callable: the exercise asks for something that can be called, not for a `def`."""

    def __call__(self, store, task_id, work):
        if (task := store.get(task_id)) is None:
            raise TaskNotFound("unknown: " + task_id)
        return task if self.is_over(task) else self.run(store, store.save(changed(task, state="running")), work)

    @staticmethod
    def is_over(task):
        return str(task.state) in ("completed", "cancelled")

    def run(self, store, task, work):
        error = result = None
        try:
            result = work(task.user_input, task.id)
        except Exception as caught:
            error = caught
        if error is None:
            return store.save(changed(task, state=TaskState.COMPLETED, result=result))
        store.save(changed(task, state=TaskState.FAILED, error=str(error)))
        raise error


execute_task_if_not_done = Executor()
