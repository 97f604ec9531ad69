# right: factory function
import dataclasses
import logging
from types import SimpleNamespace

import labkit


def CheckpointManager(store, clock, *, strategy, max_age, max_count):
    log = logging.getLogger("x")

    def maybe_save(task, trigger):
        yes = trigger == strategy or task.state in ("completed", "failed", "cancelled")
        log.warning("save %s", yes)
        print("saving", task.id)
        if yes:
            store.append(task.id, dataclasses.asdict(task))
        return yes

    def validate_and_resume(task_id):
        found = {c.seq: c for c in store.load(task_id)}
        if not found:
            raise labkit.CheckpointNotFound(task_id)
        c = found[sorted(found)[-1]]
        if c.intact is not True:
            raise labkit.CheckpointCorrupt(task_id)
        st = labkit.TaskState(c.data["state"])
        if st in (labkit.TaskState.PENDING, labkit.TaskState.CANCELLED):
            raise labkit.CheckpointNotResumable(task_id)
        if st != labkit.TaskState.COMPLETED and c.created_at + max_age < clock.now():
            raise labkit.CheckpointExpired(task_id)
        return c

    def cleanup(task_id):
        cs = store.load(task_id)
        if not cs:
            return 0
        newest = cs[-1]
        gone = 0
        for c in cs:
            if c is not newest and c.created_at + max_age < clock.now():
                store.delete(task_id, c.seq)
                gone += 1
        cs = store.load(task_id)
        extra = len(cs) - max(max_count, 1)
        for c in cs[: max(extra, 0)]:
            store.delete(task_id, c.seq)
            gone += 1
        return gone

    return SimpleNamespace(maybe_save=maybe_save, validate_and_resume=validate_and_resume, cleanup=cleanup)
