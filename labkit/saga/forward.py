"""Forward: each step is begun once it is in the log, and the next one once its end is.

A crash between an action and its record leaves `started`: whoever goes on asks for the action again, under its key. If
that fails, the action of the dead process may have happened nevertheless, so its outcome is unknown. The same holds for
a retried action of which one try was lost and the last one refused. The first failure ends the way forward. A
KeyboardInterrupt and a crash are no failures: they go through, and the log says where to go on.

Not handled here: what a failure leaves behind (see `undo`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.retry import RetryPolicy
from labkit.saga.step import SagaStep, do_key
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
            unknown = [under_way]
            try:
                self._try(step, do_key(writer.saga_id, step.name), unknown)
            except Exception as error:
                if not step.fails(error):
                    raise
                writer.note("unknown" if any(unknown) else "failed", step.name, error_text(error))
                return error
            # crash here: the effect is there and no record says so; the key makes asking again harmless
            writer.note("done", step.name)
        writer.note(COMPLETED)
        writer.flush()
        return None

    def _try(self, step: SagaStep, key: str, unknown: list[bool]) -> None:
        """Call the action until it succeeds or is given up; `unknown` gets what each failed try says of the world."""

        def attempt() -> None:
            try:
                step.execute(key)
            except Exception as error:
                unknown.append(step.unknown(error))
                raise

        (step.retry or self.policy).run(attempt, self.clock, self.deadline)
