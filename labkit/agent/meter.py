"""What a run spends between one message and the next: the tokens that the model's answers say, and the time at work.

Each message is written with what was spent since the last write that went through. One that did not, since the database was busy or another process was
faster, takes nothing off: the next one says it too.

Not handled here: what may be spent (see `budget`), and what an attempt spends between its last write and its death.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from labkit.agent.conversation import Message
from labkit.agent.journal import Cost, ToolJournal
from labkit.clock import Clock
from labkit.database import in_one_line
from labkit.errors import StoreBusy, StoreFull

_log = logging.getLogger("labkit.agent")


class Meter:
    """Counts for one attempt, which writes all its messages through it."""

    def __init__(self, journal: ToolJournal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._tokens, self._since = 0, clock.monotonic()

    def add(self, tokens: int) -> None:
        """Count what an answer cost."""
        self._tokens += tokens

    def append(self, message: Message) -> None:
        """Append the message to the journal, with what was spent on it. Errors as there; nothing is forgotten then."""
        self._write(lambda cost: self._journal.append(message, cost))

    def pay(self) -> None:
        """Write down what was spent where there is no message to come. An outage is only logged: the attempt ends with what ended it."""
        try:
            self._write(self._journal.spend)
        except (StoreBusy, StoreFull, SQLAlchemyError) as error:
            told, task_id = f"{type(error).__name__}: {in_one_line(error)}", self._journal.task_id
            _log.warning("task %s: what its attempt took is not counted: %s", task_id, told, extra={"task": task_id})

    def _write(self, write: Callable[[Cost], None]) -> None:
        now = self._clock.monotonic()
        write(Cost(self._tokens, round(1000 * (now - self._since))))
        self._tokens, self._since = 0, now

    def __repr__(self) -> str:
        return f"<Meter {self._journal.task_id} {self._tokens} tokens>"
