"""A step of a saga: an action, its undo, and what an error of the action says about the world.

Both are called with an idempotency key that is the same in every process and every try: `<saga>:<step>:do` and
`<saga>:<step>:undo`. So an action that is asked for again after a crash is answered by the outside world from its own
record, and so is an undo. An action that raises either did not happen, or nobody knows: a time-out and an error that is
not `definite` leave its outcome *unknown*, and then it is undone as if it had happened. An undo must therefore be
harmless where there is nothing to undo.

Not handled here: clients whose other errors leave it open, too, as a connection that breaks may: give their steps an `unknown`. An outside world that
forgets its keys, and keys that clash, since a colon may stand in both names:
step `c` of saga `a:b` has the keys of step `b:c` of saga `a`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit.errors import RetriesExhausted, StaleLease, TaskCancelled
from labkit.retry import RetryPolicy
from labkit.store.contract import plain_text

Act = Callable[[str], object]  # called with its key; what it returns is not used


def outcome_unknown(error: BaseException) -> bool:
    """Whether the action that raised this may have happened all the same."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(outcome_unknown, error.exceptions))
    if isinstance(error, RetriesExhausted) and error.__cause__ is not None:
        return outcome_unknown(error.__cause__)  # it only says how often, its cause says what
    return isinstance(error, TimeoutError) or getattr(error, "definite", True) is False


def of_the_step(error: Exception) -> bool:
    """Whether an error says that the step has failed. Whoever was fenced off says nothing about it: another one has the saga by now, and goes on.

    A saga whose task was cancelled is turned round: nobody else will come.
    """
    return isinstance(error, TaskCancelled) or not isinstance(error, StaleLease)


@dataclass(frozen=True)
class SagaStep:
    """One step. Without `compensate` it cannot be undone; without `retry` its action is tried once (see `Saga.policy`).

    `unknown` tells of an error whether the action may have happened, for clients that have errors of their own. An error
    that is none of the step's, says `fails`, turns nothing round and goes through, as an error of the log does.
    """

    name: str
    execute: Act
    compensate: Act | None = None
    retry: RetryPolicy | None = None
    unknown: Callable[[Exception], bool] = outcome_unknown
    fails: Callable[[Exception], bool] = of_the_step

    def __repr__(self) -> str:
        return f"<SagaStep {self.name}>"


def do_key(saga_id: str, step: str) -> str:
    """The key of the action."""
    return f"{saga_id}:{step}:do"


def undo_key(saga_id: str, step: str) -> str:
    """The key of the undo; another one, or the outside world would take the undo for the action."""
    return f"{saga_id}:{step}:undo"


def check_names(steps: Sequence[SagaStep]) -> None:
    """Return when each step can be told from the others in a log: `ValueError`, `UnstorableValue`.

    subtle: before anything has happened, since a name that cannot be logged would stop the saga half way.
    """
    names = [plain_text("step", step.name) for step in steps]
    if "" in names or len(set(names)) < len(names):
        raise ValueError(f"the steps of a saga need names that differ and are not empty: {names}")
