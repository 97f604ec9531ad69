"""A saga as a step of another one: done as a unit, undone as a unit.

It has a log of its own, named after the step. When one of its steps fails it has undone itself before the outer saga hears of
it. When a later step of the outer saga fails, its undo takes all its steps back, in reverse. When its own undo left
something behind, the outer saga takes it for unknown and undoes it: what then remains is told by both. An error of its log
is no failure, here as there: it goes through both, and calling again goes on. A crash anywhere leaves two logs from which
both go on.

Not handled here: a deadline over both; each has its own.
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.errors import CompensationFailed, SagaFailed, UnstorableValue, UsageError
from labkit.retry import RetryPolicy
from labkit.saga.run import Saga
from labkit.saga.step import SagaStep
from labkit.saga.story import Log


def saga_step(name: str, saga: Saga, log_of: Callable[[str], Log], *, retry: RetryPolicy | None = None) -> SagaStep:
    """A step that runs `saga`. `log_of(saga_id)` opens its log, as in `partial(SagaLog, engine)`; the id is `<outer>:<name>`."""

    def execute(key: str) -> None:
        saga.run(log_of(key.removesuffix(":do")))

    def compensate(key: str) -> None:
        saga.undo(log_of(key.removesuffix(":undo")))

    # subtle: whatever else comes out of the inner saga is an error of its log, and says nothing about its steps
    return SagaStep(name, execute, compensate, retry, unknown=_left_something, fails=_has_ended)


def _left_something(error: Exception) -> bool:
    return isinstance(error, CompensationFailed)


def _has_ended(error: Exception) -> bool:
    # subtle: what no call can mend (an id too long for a log, a log without times) ends it too, or the outer saga would never end
    return isinstance(error, SagaFailed | CompensationFailed | UnstorableValue | UsageError)
