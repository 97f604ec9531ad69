"""Every error of labkit, in one place, each saying whether the thing asked for may have happened.

An error is *definite* when nothing happened: asking again is safe. It is *indefinite* when the answer was lost on the way: the effect may be
there, so asking again is safe only under the same idempotency key. Retry and saga branch on this one attribute.

Not handled here: which errors are worth another attempt. That is a policy, see `retry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class LabkitError(Exception):
    """Something in labkit went wrong."""

    definite: bool = True

    def __init__(self, message: str | None = None, **data: Any) -> None:
        unknown = [name for name in data if not hasattr(type(self), name)]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no attribute {unknown[0]!r}")
        self.__dict__.update(data)
        super().__init__(self._default_message(data) if message is None else message)

    def _default_message(self, data: dict[str, Any]) -> str:
        first_line = (type(self).__doc__ or type(self).__name__).strip().splitlines()[0]
        details = ", ".join(f"{name}={value!r}" for name, value in data.items())
        return f"{first_line} ({details})" if details else first_line


class TransientError(LabkitError):
    """It did not work this time; the same call may work later."""

    retry_after: float | None = None  # seconds that the other side asked us to wait


class CallTimeout(TransientError, TimeoutError):
    """No answer came in time; the effect may have happened."""

    definite = False


class TerminalError(LabkitError):
    """It will never work: another attempt is a waste."""


class UsageError(LabkitError):
    """The input cannot be used; the message says what to do."""

    def _render_traceback_(self) -> list[str]:
        """A notebook shows this line alone: what to mend stands in the cell, not on the way through labkit."""
        return [f"{type(self).__name__}: {self}"]


class PostgresUnavailable(UsageError):
    """There is no PostgreSQL to be had here; the message says why and what to do."""

    named: bool = False  # the one that was asked for by LABKIT_DATABASE_URL, so what is set there must be mended


class RetriesExhausted(LabkitError):
    """Every attempt failed; the last error is the cause."""

    attempts: int = 0


class DeadlineExceeded(LabkitError):
    """The deadline passed; `completed` holds the results that were in time."""

    completed: Sequence[Any] = ()


class TaskNotFound(LabkitError):
    """No task has this id."""


class StaleTask(LabkitError):
    """Another write came between: read the task again before writing."""


class InvalidTransition(LabkitError):
    """The transition table forbids this change of state."""


class UnstorableValue(LabkitError):
    """A value that one of the stores cannot hold; `path` says where it stands."""

    path: str = ""


class ValueTooLarge(TerminalError, UnstorableValue):
    """A value of more bytes than may be stored there: it will never fit; `path` says where it stands."""


class StoreBusy(TransientError):
    """The store was locked for longer than we wait; nothing was written."""


class StoreFull(TransientError):
    """There is no room on the disk; nothing was written."""


class StoreCorrupt(LabkitError):
    """The stored bytes are damaged; they were kept aside, not overwritten."""

    kept_at: str = ""


class StaleLease(LabkitError):
    """The lease is no longer held under this worker and attempt; nothing was changed."""


class TaskCancelled(StaleLease):
    """The task was cancelled while it ran: stop, nothing that you write counts."""


class WaitTimeout(LabkitError, TimeoutError):
    """The task has not ended in the time given; it goes on."""


class QueueFull(TransientError):
    """The queue takes no more now; try again after `retry_after` seconds."""

    retry_after: float = 1.0


class CheckpointNotFound(LabkitError):
    """The task has no checkpoint."""


class CheckpointExpired(LabkitError):
    """The newest checkpoint is older than the allowed age."""


class CheckpointCorrupt(LabkitError):
    """The newest checkpoint is damaged; damaged is not missing."""


class CheckpointNotResumable(LabkitError):
    """The state in the checkpoint does not allow to go on from it."""


class StaleCheckpoint(LabkitError):
    """Another checkpoint was saved after the expected parent."""


class ArtifactNotFound(LabkitError):
    """No artifact has this id."""


class StaleJournal(LabkitError):
    """Another process has gone on with this conversation; nothing was written."""


class BadArguments(TerminalError):
    """What a model wrote as arguments of a tool cannot be used; the message is for the model."""


class ModelUnavailable(TransientError):
    """The model gave no answer that can be used; asking again may help."""

    tokens: int = 0  # that it cost all the same


class ModelRefused(TerminalError):
    """The model's endpoint refuses what we ask, and always will."""

    tokens: int = 0  # that it cost all the same


class BudgetExhausted(TerminalError):
    """A run has used up one of its budgets; `budget` names it."""

    budget: str = ""


class StateNotFound(LabkitError):
    """The agent has no state of this task."""


class StaleState(LabkitError):
    """Another agent has changed the state since this version: read it and apply again."""

    version: int = 0  # the newest


class BudgetTooSmall(LabkitError):
    """Not even the parts that must be there fit into the budget."""


class StaleSaga(LabkitError):
    """Another process has written to the log of this saga: read it again before going on."""


class SagaFailed(LabkitError):
    """A step failed and the steps before it were undone."""

    step: str = ""


class CompensationFailed(LabkitError):
    """An undo failed for good; `remaining` names what is still there, in undo order."""

    remaining: Sequence[str] = ()
