"""What a log tells of a saga, and a writer that makes everything durable before the next call goes out.

The log alone decides how a saga goes on, in whatever process: forward as long as nothing failed, backward from then on.
A step that was started and has no end may have happened, since its process died in it. What is noted is written when
`flush` is called, which is before each action and each undo; everything noted until then is one commit where the log
offers that (`append_all`), so the end of one step and the start of the next cost one.

Not handled here: where a log is kept (see `log`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_log = logging.getLogger("labkit.saga")
COMPLETED, COMPENSATED, COMPENSATION_FAILED = "completed", "compensated", "compensation_failed"
FINAL = (COMPLETED, COMPENSATED, COMPENSATION_FAILED)
_BROKEN = ("failed", "unknown")  # an action that ended so turns the saga round
_BACKWARD = {*_BROKEN, "undoing", "undone", COMPENSATED, COMPENSATION_FAILED}


class Log(Protocol):
    """What a saga needs of a log: each entry is durable when `append` returns, and they come back in order."""

    @property
    def saga_id(self) -> str: ...
    def append(self, event: str, step: str = "") -> object: ...
    def entries(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True)
class Story:
    """A saga so far. `last` is the last event of each step, in the order in which the steps were first started."""

    last: dict[str, str]
    backward: bool  # nothing is started any more
    failed: str  # the step that turned it round, "" if none did
    final: str  # the event that ended it, "" as long as it goes on

    @classmethod
    def of(cls, entries: Sequence[tuple[str, str]]) -> Story:
        last = {step: event for event, step in entries if step}
        broken = [step for event, step in entries if event in _BROKEN]
        ended = entries[-1][0] if entries and entries[-1][0] in FINAL else ""
        return cls(last, any(event in _BACKWARD for event, _ in entries), broken[-1] if broken else "", ended)

    @property
    def standing(self) -> list[str]:
        """What may have happened and is not undone, in the order in which it must be undone."""
        return [step for step, event in reversed(self.last.items()) if event not in ("failed", "undone")]


class Writer:
    """The log as one run of a saga sees it: what it told at first, and what this run has noted since."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.saga_id = log.saga_id
        self._entries = [(event, step) for event, step in log.entries()]
        self._noted: list[tuple[str, str, str]] = []

    @property
    def story(self) -> Story:
        return Story.of(self._entries)

    def note(self, event: str, step: str = "", error: str = "") -> None:
        """Say that something happened; it is not durable before the next `flush`."""
        self._entries.append((event, step))
        self._noted.append((event, step, error))

    def flush(self) -> None:
        """Make durable what was noted. A crash here leaves all of it or, in a log without `append_all`, a beginning of it."""
        noted, self._noted = self._noted, []
        together: Any = getattr(self._log, "append_all", None)
        if together is not None and noted:
            together(noted)
        for event, step, error in noted:
            if together is None:
                self._log.append(event, step)
            told = {"saga": self.saga_id, "step": step, "event": event}
            _log.info("saga %s %s %s%s", self.saga_id, event, step, error and f": {error}", extra=told)
