"""What the workers of all systems do: charge somebody and write a mail, or a deployment of five steps that is undone when one of them fails.

The work is the same in each system; what a system guarantees of it is handed in. Each call takes five virtual seconds to prepare, so that workers overlap;
right before it the worker makes sure that the task is still its own.

Not handled here: who does it when (see `stories`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit.cloud import Cloud
from labkit.errors import CompensationFailed, SagaFailed, TerminalError, TransientError
from labkit.faults.process import Process
from labkit.queue import Job
from labkit.saga import SagaLog, SagaStep

SECONDS = 5.0  # that each call takes
STEPS = {  # a step -> what it calls, and what its undo calls; in this order, which is no order of the alphabet
    "certificate": ("issue_certificate", "revoke_certificate"),
    "dns_record": ("create_dns_record", "delete_dns_record"),
    "payment": ("charge", "refund"),
    "namespace": ("create_namespace", "delete_namespace"),
    "alert": ("create_alert", "delete_alert"),
}

RunSaga = Callable[[Sequence[SagaStep], SagaLog], None]
Keyed = Callable[[Job, str], "str | None"]  # (job, what is called) -> the key of the call


@dataclass(frozen=True)
class Hands:
    """What a worker works with in one process: how sagas are run and what keys calls get is its system's business."""

    process: Process
    run_saga: RunSaga
    key: Keyed

    def work(self, job: Job) -> str:
        """The handler: the first word of a task says what to do, the others how it goes."""
        what, whom, *how = job.user_input.split()
        if what == "deploy":
            return self._deploy(job, whom, how)
        if "refused" in how:
            raise TerminalError("the card is refused")
        self._call(job, "charge", whom)
        if how.count("shaky") >= job.task.attempt:
            raise TransientError("the mail server is busy")
        self._call(job, "send_mail", whom)
        return f"{whom} has paid"

    def _deploy(self, job: Job, app: str, how: list[str]) -> str:
        try:
            self.run_saga([self._step(job, app, name, how) for name in STEPS], SagaLog(self.process.engine, job.task.id))
        except (SagaFailed, CompensationFailed) as error:
            raise TerminalError(str(error)) from error  # what was taken back is not tried again
        return f"{app} runs"

    def _step(self, job: Job, app: str, name: str, how: list[str]) -> SagaStep:
        def execute(key: str) -> None:
            if f"no-{name}" in how:
                raise TerminalError(f"{name} is refused")
            self._call(job, STEPS[name][0], app)

        def compensate(key: str) -> None:
            if f"stuck-{name}" in how:
                raise TerminalError(f"{name} stays")
            self._call(job, STEPS[name][1], app)

        return SagaStep(name, execute, compensate)

    def _call(self, job: Job, what: str, whom: str) -> None:
        self.process.clock.sleep(SECONDS)
        job.tell(1, "tool_call", what)  # refused, if the task was cancelled or given to somebody else
        cloud: Cloud = self.process.cloud
        getattr(cloud, what)(whom, key=self.key(job, what))
