"""What a handler is handed: the task, the key for its effects, and a way to hear that it should stop.

The key is the task's id: it stays the same over attempts, crashes, reclaims and redrives, so an outside world that knows
keys shows each effect once. A handler that takes long calls `check()` between its steps: it raises when the lease was
lost or the task was cancelled (nothing that it writes would count), when the task's deadline has passed, or when the
worker is asked to stop. One that needs a person calls `ask()`: it is run again, from its beginning, with the answer.

Not handled here: interrupting a handler that never checks. Python cannot; its writes are fenced all the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from labkit.deadline import Deadline
from labkit.errors import StaleLease, TerminalError, UsageError
from labkit.progress.update import ProgressUpdate, Status
from labkit.queue.lease import Lease
from labkit.queue.queue import TaskQueue
from labkit.task import Task

REST = "*"  # in a mapping of handlers: for what no other one takes


class GiveBack(Exception):
    """Raised by a handler: put the task back, somebody else shall do it. The attempt does not count."""


class Ask(Exception):
    """Raised by a handler: park the task until somebody has answered this question."""


class Job:
    """One attempt at one task, as its handler sees it."""

    def __init__(self, queue: TaskQueue, task: Task, stopping: Callable[[], bool] = lambda: False) -> None:
        self.task, self.lease = task, Lease.of(task)
        self._queue, self._stopping = queue, stopping
        self._lost: StaleLease | None = None

    @property
    def user_input(self) -> str:
        return self.task.user_input

    @property
    def key(self) -> str:
        """The idempotency key for the effects of this task."""
        return self.task.id

    @property
    def lost(self) -> bool:
        """Whether a heartbeat found that the task was cancelled or given to somebody else."""
        return self._lost is not None

    @property
    def stopping(self) -> bool:
        """Whether the worker was asked to stop: finish soon, or raise `GiveBack`."""
        return self._stopping()

    @cached_property
    def deadline(self) -> Deadline | None:
        """When the task is no longer worth doing. A second attempt has what the first one left of it."""
        at = self._queue.deadline(self.task.id)
        return None if at is None else Deadline(at, self._queue.clock)

    def check(self) -> None:
        """Raise `TaskCancelled`, `StaleLease`, `DeadlineExceeded` or `GiveBack` if there is no point in going on."""
        if self._lost is not None:
            raise type(self._lost)(str(self._lost))
        if self.deadline is not None:
            self.deadline.for_step()
        if self.stopping:
            raise GiveBack(f"the worker of {self.task.id} stops")

    def ask(self, question: str) -> str:
        """The answer to this question. As long as there is none the task is parked, and this does not return.

        Only the last question is kept: who asks a second one must have stored what the first one was answered, or it is asked again.
        """
        asked = self._queue.question(self.task.id)
        if asked.text != question or asked.answer is None:
            raise Ask(question)
        return asked.answer

    def amendments(self) -> list[str]:
        """What people added to the task while it was on its way, oldest first."""
        return self._queue.amendments(self.task.id)

    def tell(self, step: int, status: Status, message: str = "", *, total_step: int = 0, tool: str = "") -> int:
        """Append to the task's progress, for as long as the lease is held (`StaleLease`). Returns the position."""
        update = ProgressUpdate(
            task_id=self.task.id, step=step, status=status, message=message, total_step=total_step, tool=tool
        )
        return self._queue.progress.append(update, self.lease)

    def lose(self, error: StaleLease) -> None:
        """What the heartbeat calls when it was refused."""
        self._lost = error

    def __repr__(self) -> str:
        return f"<Job {self.task.id} attempt={self.task.attempt}{' lost' if self.lost else ''}>"


Handler = Callable[[Job], str]


def handler_of(made: Any) -> Handler:
    """One handler: the given one, or for a mapping the one under the first word of the task (else under "*")."""
    if _is_handler(made):
        return made  # type: ignore[no-any-return]
    if not (isinstance(made, Mapping) and made and all(_is_handler(handler) for handler in made.values())):
        odd = next((one for one in made.values() if not _is_handler(one)), made) if isinstance(made, Mapping) else made
        raise UsageError(f"a handler is a plain function of a job, or a dict of them by first word, not {_shown(odd)}")

    def dispatch(job: Job) -> str:
        first = (job.user_input.split(None, 1) or [""])[0]
        chosen = made.get(first, made.get(REST))
        if chosen is None:
            raise TerminalError(f"no handler for {first!r} (known: {', '.join(map(str, made))})")
        result: str = chosen(job)
        return result

    return dispatch


def is_plain(made: Any) -> bool:
    """Whether it can be called and then has run: no coroutine and no generator, which would only begin when somebody asks them to."""
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    return callable(made) and not any(kind(made) or kind(getattr(made, "__call__", None)) for kind in kinds)  # noqa: B004


def _is_handler(made: Any) -> bool:
    """Whether it can be called with a job and then has done it; what does not tell how it is called is believed."""
    if not is_plain(made):
        return False
    try:
        signature = inspect.signature(made)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True


def _shown(made: Any) -> str:
    """What was given instead of a handler: of a function how it is written."""
    try:
        kind = "async def " if inspect.iscoroutinefunction(made) else ""
        return f"{kind}{made.__qualname__}{inspect.signature(made)}"
    except (AttributeError, TypeError, ValueError):
        return f"{made!r:.80}"
