"""A saga: all of its steps happen, or what happened is undone; and whoever calls it again gets the same answer.

`run` goes on from where the log stands, forward or backward, until the saga has ended. It returns when all is done,
raises `SagaFailed` when everything is undone again, and `CompensationFailed` when something remains. A finished saga calls
nothing and gives the same outcome. An error of the log itself (`StoreBusy`, `StaleSaga`) is no failure of a step: it goes
through, nothing is undone for it, and calling again goes on.

Not handled here: who calls again. A task in a queue is run until it has ended (see `queue`). And isolation: others see
the steps that are done while the saga is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

from labkit.clock import Clock, SystemClock, VirtualClock
from labkit.deadline import Deadline
from labkit.errors import CompensationFailed, SagaFailed, UsageError
from labkit.retry import RetryPolicy
from labkit.saga.forward import ONCE, Forward
from labkit.saga.step import SagaStep, check_names
from labkit.saga.story import COMPENSATION_FAILED, COMPLETED, Log, Story, Writer
from labkit.saga.undo import THREE_TRIES, Backward
from labkit.store.contract import error_text


class Saga:
    """Steps, and how they are tried: `policy` for steps that have none of their own, `undo_policy` for all undos.

    `undo_deadline` is in seconds from the failure in the log, by the log's time; it needs a log that keeps times.
    """

    def __init__(
        self,
        steps: Sequence[SagaStep],
        *,
        name: str = "saga",
        policy: RetryPolicy = ONCE,
        undo_policy: RetryPolicy = THREE_TRIES,
        undo_deadline: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        check_names(steps)
        self.steps, self.name = tuple(steps), name
        self.policy, self.undo_policy, self.undo_deadline = policy, undo_policy, undo_deadline
        self._clock = clock or SystemClock()

    def run(self, log: Log, deadline: Deadline | None = None) -> None:
        """Bring the saga to its end. After `deadline` no further step begins: the next one counts as failed."""
        self._check(log)
        writer = Writer(log)
        error: Exception | None = None
        if not writer.story.final and not writer.story.backward:
            error = Forward(self.policy, self._clock, deadline).run(self.steps, writer)
        undo_error = None if writer.story.final else self._backward(log).run(self.steps, writer)
        if writer.story.final != COMPLETED:
            _fail(log, writer.story, error, undo_error)

    def undo(self, log: Log) -> None:
        """Take back what was done, also of a saga that is complete: what makes it a step of another one (see `nested`).

        `CompensationFailed` when something remains. A saga that never began is closed by this: it will not run any more.
        """
        self._check(log)
        writer = Writer(log)
        over = writer.story.final not in ("", COMPLETED)
        undo_error = None if over else self._backward(log).run(self.steps, writer)
        if writer.story.final == COMPENSATION_FAILED:
            _fail(log, writer.story, None, undo_error)

    def _check(self, log: Any) -> None:
        if self.undo_deadline is not None and not hasattr(log, "records"):
            raise UsageError("undo_deadline needs a log that keeps times, such as SagaLog")

    def _backward(self, log: Any) -> Backward:
        def deadline() -> Deadline | None:
            if self.undo_deadline is None:
                return None
            began = next(record.time for record in log.records() if record.event in ("failed", "unknown", "undoing"))
            return Deadline(began + timedelta(seconds=self.undo_deadline), self._clock)

        return Backward(self.undo_policy, self._clock, deadline)

    def __repr__(self) -> str:
        return f"<Saga {self.name}: {len(self.steps)} steps>"


def run_saga(steps: Sequence[SagaStep], log: Log, *, clock: Clock | None = None) -> None:
    """Run the steps to the end of the saga, with any log that appends and reads; see `Saga.run`.

    Without a clock nobody waits: tries follow each other at once.
    """
    Saga(steps, clock=clock or VirtualClock()).run(log)


def _fail(log: Any, story: Story, error: Exception | None, undo_error: Exception | None) -> NoReturn:
    """Raise how a saga ended that is not complete; the errors are those that this call has seen."""
    texts = {record.step: record.error for record in log.records() if record.error} if hasattr(log, "records") else {}
    why = error_text(error) if error is not None else texts.get(story.failed, "")
    what = f"step {story.failed!r} failed" if story.failed else "the saga was taken back"
    head = f"{log.saga_id}: {what}{why and f' ({why})'}"
    if story.final == COMPENSATION_FAILED:
        remaining = story.standing
        undo_why = error_text(undo_error) if undo_error is not None else ""
        message = f"{head}, and {', '.join(remaining)} could not be undone ({texts.get('', undo_why)})"
        raise CompensationFailed(message, remaining=remaining) from (undo_error or error)
    raise SagaFailed(f"{head}, and all that was done is undone", step=story.failed) from error
