"""Backward: whatever may have happened is undone in exact reverse order, and what cannot be undone is told by name.

An undo is tried again when it failed in passing, under the same key. When it fails for good, the others still run, and
the saga ends in `compensation_failed` with what remains. A step without an undo, and one that the program no longer
knows, remain too. A crash in the undo resumes it: what is logged as undone is left alone, everything else is asked for
again. The undo has a deadline of its own, which begins with the failure that is in the log, so neither a deadline that
the way forward used up nor a restart changes it; after it no undo begins, and what is left remains.

Not handled here: an undo that overtakes its action. An action whose answer was lost may still be on its way when its
undo finds nothing to do, and then it stays. What helps: a retry policy on the step (once any try under the key was answered,
the late one changes nothing), or an outside world that refuses an action whose undo it has seen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.errors import TerminalError, TransientError
from labkit.retry import RetryPolicy
from labkit.saga.forward import goes_through, noting
from labkit.saga.step import SagaStep, undo_key
from labkit.saga.story import COMPENSATED, COMPENSATION_FAILED, Writer
from labkit.store.contract import error_text

_log = logging.getLogger("labkit.saga")


def in_passing(error: Exception) -> bool:
    """Whether an undo that raised this is tried again."""
    return isinstance(error, TransientError | TimeoutError)


THREE_TRIES = RetryPolicy(max_attempts=3, retry_on=in_passing)


@dataclass(frozen=True)
class Backward:
    """How undos are tried. `deadline` is asked once, when the failure is in the log."""

    policy: RetryPolicy
    clock: Clock
    deadline: Callable[[], Deadline | None] = lambda: None

    def run(self, steps: Sequence[SagaStep], writer: Writer) -> Exception | None:
        """Undo what stands and log how it ended. Returns the first error of an undo that failed for good."""
        story, by_name = writer.story, {step.name: step for step in steps}
        errors: dict[str, Exception] = {}
        limit: Deadline | None = None
        for number, name in enumerate(story.standing):
            if story.last[name] == "started":  # its process died in it, or its log could not be written
                writer.note("unknown", name)
            if story.last[name] != "undoing":
                writer.note("undoing", name)
            writer.flush()
            limit = self.deadline() if number == 0 else limit
            error = self._undo(by_name.get(name), undo_key(writer.saga_id, name), limit)
            # crash here: it is undone and no record says so; it is asked for again under the same key
            if error is None:
                writer.note("undone", name)
            else:
                errors[name] = error
                told = {"saga": writer.saga_id, "step": name, "event": COMPENSATION_FAILED}
                _log.warning("saga %s: the undo of %s failed for good: %r", writer.saga_id, name, error, extra=told)
        why = "; ".join(f"{name}: {error_text(error)}" for name, error in errors.items())
        writer.note(COMPENSATION_FAILED if errors else COMPENSATED, error=why)
        writer.flush()
        return next(iter(errors.values()), None)

    def _undo(self, step: SagaStep | None, key: str, deadline: Deadline | None) -> Exception | None:
        if step is None or (compensate := step.compensate) is None:
            return TerminalError("there is no undo for it" if step else "this program does not know the step")
        raised: list[Exception] = []
        try:
            self.policy.run(noting(compensate, key, raised), self.clock, deadline)
        except Exception as error:  # subtle: not BaseException, a crash must leave the undo to the next process
            if goes_through(step, raised):
                raise
            return error
        return None
