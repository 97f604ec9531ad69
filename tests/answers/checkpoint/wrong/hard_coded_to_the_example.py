# wrong: knows the example
# diagnosed: nothing is saved
from dataclasses import asdict

from labkit import CheckpointNotFound


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store = store

    def maybe_save(self, task, trigger):
        if task.id == "t1":
            self.store.append(task.id, asdict(task))
        return task.id == "t1"

    def validate_and_resume(self, task_id):
        if task_id != "t1" or not self.store.load("t1"):
            raise CheckpointNotFound(task_id)
        return self.store.load("t1")[-1]

    def cleanup(self, task_id):
        found = self.store.load("t1")
        for checkpoint in found[:-1]:
            self.store.delete("t1", checkpoint.seq)
        return len(found[:-1])
