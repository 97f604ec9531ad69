# wrong: saves, takes the last, deletes the first
# diagnosed: saves whatever the trigger
from dataclasses import asdict


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store, self.max_count = store, max_count

    def maybe_save(self, task, trigger):
        self.store.append(task.id, asdict(task))
        return True

    def validate_and_resume(self, task_id):
        return self.store.load(task_id)[-1]

    def cleanup(self, task_id):
        found = self.store.load(task_id)
        for checkpoint in found[: -self.max_count]:
            self.store.delete(task_id, checkpoint.seq)
        return len(found[: -self.max_count])
