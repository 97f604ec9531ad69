"""What each process of the soak test runs: submit under keys of its own, claim, have an effect, complete."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import select

from labkit.clock import SystemClock
from labkit.cloud import Cloud, Effect, FileLedger
from labkit.database import open_engine
from labkit.queue import Job, TaskQueue, Worker
from labkit.tables import tasks

LEASE = 2.0


class GrowingLedger(FileLedger):
    """A ledger file that nobody takes anything from: what was read once need not be read again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._read, self._known = 0, list[Effect]()

    def entries(self) -> Sequence[Effect]:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._read)
                found = file.read()
            whole = found[: found.rfind(b"\n") + 1]
            self._read += len(whole)
            self._known += [Effect(**json.loads(line)) for line in whole.splitlines()]
        return self._known


def play(owner: str, url: str, ledger: str, count: int, die_at: int) -> None:
    """Submit `count` tasks, then work until none is left; killed after effect number `die_at` (0: never)."""
    queue = TaskQueue(open_engine(url), lease_seconds=LEASE, max_attempts=50)
    cloud, clock = Cloud(GrowingLedger(Path(ledger)), SystemClock(), by=owner), SystemClock()
    effects = [0]

    def handle(job: Job) -> str:
        answer = cloud.send_mail(job.user_input, key=job.key)
        effects[0] += 1
        if effects[0] == die_at:
            os.kill(os.getpid(), signal.SIGKILL)  # the effect is there, the record is not
        return answer

    for number in range(count):
        queue.submit(f"{owner}-{number}", idempotency_key=f"{owner}-{number}")
    worker = Worker(queue, handle, owner)
    while _left(queue):
        worker.run_until_idle()
        clock.sleep(0.05)


def _left(queue: TaskQueue) -> bool:
    alive = select(tasks.c.id).where(tasks.c.state.in_(["pending", "running"])).limit(1)
    with queue.engine.connect() as connection:
        return connection.scalar(alive) is not None


if __name__ == "__main__":
    play(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
