# right: every call to the store is made by a helper thread; the data are built by hand
import threading

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable


def elsewhere(call, *arguments):
    ended = {}

    def run():
        try:
            ended["value"] = call(*arguments)
        except BaseException as error:
            ended["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in ended:
        raise ended["error"]
    return ended["value"]


def as_data(task):
    times = ("available_at", "lease_expires_at", "created_at", "updated_at")
    data = {
        name: getattr(task, name)
        for name in ("id", "user_input", "result", "error", "priority", "worker_id", "attempt")
    }
    data |= {name: getattr(task, name) and getattr(task, name).isoformat() for name in times}
    return data | {"state": task.state.value, "idempotency_key": task.idempotency_key, "version": task.version}


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store, self.clock, self.strategy, self.max_age, self.max_count = store, clock, strategy, max_age, max_count

    def maybe_save(self, task, trigger):
        if trigger == self.strategy or task.state.value in ("completed", "failed", "cancelled"):
            elsewhere(self.store.append, task.id, as_data(task) | {"saved_at": self.clock.now().isoformat()})
            return True
        return False

    def validate_and_resume(self, task_id):
        newest = None
        for checkpoint in elsewhere(self.store.load, task_id):
            newest = checkpoint if newest is None or checkpoint.seq > newest.seq else newest
        if newest is None:
            raise CheckpointNotFound
        if not newest.intact:
            raise CheckpointCorrupt
        if newest.data["state"] in ("pending", "cancelled"):
            raise CheckpointNotResumable
        if newest.data["state"] != "completed" and self.clock.now() - newest.created_at > self.max_age:
            raise CheckpointExpired
        return newest

    def cleanup(self, task_id):
        found = elsewhere(self.store.load, task_id)
        newest_first = sorted(found, key=lambda checkpoint: -checkpoint.seq)
        went = 0
        for place, checkpoint in enumerate(newest_first[1:], 2):
            if place > self.max_count or self.clock.now() - checkpoint.created_at > self.max_age:
                elsewhere(self.store.delete, task_id, checkpoint.seq)
                went += 1
        return went
