"""What those who watch are told of a run, each thing once, also where a process died after it had told it.

Telling is fenced by the task's lease: whoever has lost it is stopped here (`StaleLease`).

Not handled here: the end of the task, which the queue tells, and the question of a parked one, which the queue tells too.
"""

from __future__ import annotations

from sqlalchemy import Engine

from labkit.progress import ProgressLog
from labkit.progress.update import ProgressUpdate, Status
from labkit.queue.job import Job


class Teller:
    """Tells for one attempt. One that goes on with a run (`begun`) looks first at what was told last."""

    def __init__(self, engine: Engine, job: Job, begun: bool) -> None:
        self._job = job
        told = ProgressLog(engine).after(job.task.id) if begun else []
        self._last: ProgressUpdate | None = told[-1][1] if told else None

    def tell(self, step: int, status: Status, message: str = "", tool: str = "") -> None:
        """Tell it, unless it is what they heard last, from a process that died since."""
        last, self._last = self._last, None
        if last is None or (last.step, last.status, last.message, last.tool) != (step, status, message, tool):
            self._job.tell(step, status, message, tool=tool)

    def __repr__(self) -> str:
        return f"<Teller {self._job.task.id}>"
