"""Forward: each step is begun once it is in the log, and the next one once its end is.

A crash between an action and its record leaves `started`: whoever goes on asks for the action again, under its key. If
that fails, the action of the dead process may have happened nevertheless, so its outcome is unknown. The same holds for
a retried action of which one try was lost and the last one refused. The first failure ends the way forward. A
KeyboardInterrupt and a crash are no failures: they go through, and the log says where to go on.

Not handled here: what a failure leaves behind (see `undo`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.retry import RetryPolicy
from labkit.saga.step import Act, SagaStep, do_key
from labkit.saga.story import COMPLETED, Writer
from labkit.store.contract import error_text

ONCE = RetryPolicy(max_attempts=1)


@dataclass(frozen=True)
class Forward:
    """How actions are tried: by the policy of their step, else by `policy`; none begins after the deadline."""

    policy: RetryPolicy
    clock: Clock
    deadline: Deadline | None = None

    def run(self, steps: Sequence[SagaStep], writer: Writer) -> Exception | None:
        """Run what is not done yet. None when all is done and logged, else the error, which is noted and not yet flushed."""
        before = writer.story.last
        for step in steps:
            if before.get(step.name) == "done":
                continue
            under_way = before.get(step.name) == "started"  # in a process that died
            if not under_way:
                writer.note("started", step.name)
            writer.flush()
            raised: list[Exception] = []
            try:
                self._try(step, do_key(writer.saga_id, step.name), raised)
            except Exception as error:
                if goes_through(step, raised):
                    raise
                unknown = under_way or any(map(step.unknown, raised))
                writer.note("unknown" if unknown else "failed", step.name, error_text(error))
                return error
            # crash here: the effect is there and no record says so; the key makes asking again harmless
            writer.note("done", step.name)
        writer.note(COMPLETED)
        writer.flush()
        return None

    def _try(self, step: SagaStep, key: str, raised: list[Exception]) -> None:
        """Call the action until it succeeds or is given up; `raised` gets the error of each failed try."""
        act = noting(step.execute, key, raised)
        (step.retry or self.policy).run(act, self.clock, self.deadline)


def noting(act: Act, key: str, raised: list[Exception]) -> Callable[[], None]:
    """One try of an action or an undo: its error is kept, too, since the policy may raise one of its own (no time to begin)."""

    def attempt() -> None:
        try:
            act(key)
        except Exception as error:
            raised.append(error)
            raise

    return attempt


def goes_through(step: SagaStep, raised: Sequence[Exception]) -> bool:
    """Whether the last error says nothing about the step (see `SagaStep.fails`). Where nothing was tried there is none."""
    return bool(raised) and not step.fails(raised[-1])
