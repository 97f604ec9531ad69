"""A saga that keeps a log and undoes what it did, from the first step on: what stands on a step is still there when the step is taken away.

Not handled here: a crash (see `labkit.saga`), and the right order.
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.errors import SagaFailed
from labkit.saga import SagaLog, SagaStep
from labkit.saga.step import do_key, undo_key


def undo_forward(steps: Sequence[SagaStep], log: SagaLog) -> None:
    """Run the steps; when one fails, undo those that are done and raise `SagaFailed`."""
    done: list[SagaStep] = []
    for step in steps:
        log.append("started", step.name)
        try:
            step.execute(do_key(log.saga_id, step.name))
        except Exception as error:
            log.append("failed", step.name)
            _undo(done, log)
            raise SagaFailed(step=step.name) from error
        log.append("done", step.name)
        done.append(step)
    log.append("completed")


def _undo(done: Sequence[SagaStep], log: SagaLog) -> None:
    for step in done:  # and not reversed(done)
        log.append("undoing", step.name)
        if step.compensate is not None:
            step.compensate(undo_key(log.saga_id, step.name))
        log.append("undone", step.name)
    log.append("compensated")
