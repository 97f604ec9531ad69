"""Rows of the table `tasks` as a scene, and what of them is another at the end: for the exercises that are answered in SQL.

All times are relative to `NOW`, which is not what the world's clock says: whoever asks another clock than the one that was given is found out.

Not handled here: what must have changed (see the rules of each exercise).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Executable, insert
from sqlalchemy.exc import DBAPIError

from labkit.clock import STORY_BEGINS
from labkit.faults.process import Process
from labkit.faults.runner import plain_rows
from labkit.tables import tasks

Row = dict[str, Any]

NOW = STORY_BEGINS + timedelta(hours=2, microseconds=314_159)  # no whole second: somebody may cut it to one
COUNTS = ("version",)  # what may change by the way
_DEFAULTS: Row = dict.fromkeys(("worker_id", "lease_expires_at", "result", "error", "idempotency_key")) | {
    "priority": 0,
    "attempt": 0,
    "version": 1,
}


def row(task_id: str, state: str = "pending", *, made: float = -3600.0, due: float = -60.0, **fields: Any) -> Row:
    """A whole row: `made` and `due` are seconds from `NOW`, and so is `lease` in `fields`."""
    times = {"created_at": at(made), "available_at": at(due), "updated_at": at(made)}
    lease = {"lease_expires_at": at(fields.pop("lease"))} if "lease" in fields else {}
    return _DEFAULTS | {"id": task_id, "user_input": f"do {task_id}", "state": state} | times | lease | fields


def at(seconds: float) -> datetime:
    """An instant, in seconds from `NOW`."""
    return NOW + timedelta(seconds=seconds)


def scene(rows: Sequence[Row]) -> Callable[[Process], None]:
    """A setup that stores these rows, in this order."""

    def setup(process: Process) -> None:
        if rows:
            with process.engine.begin() as connection:
                connection.execute(insert(tasks), list(rows))

    return setup


def as_facts(rows: Sequence[Row]) -> dict[str, Row]:
    """The rows by id, in the form in which an `End` shows them."""
    plain = {name: value for row in rows for name, value in [(row["id"], dict(row))]}
    return {
        name: {c: v.isoformat() if isinstance(v, datetime) else v for c, v in row.items()}
        for name, row in plain.items()
    }


def meanwhile(process: Process, act: Executable) -> None:
    """What another process does in between: one statement. It does not happen while the answer holds a lock against it."""
    with contextlib.suppress(DBAPIError), process.engine.begin() as connection:
        connection.execute(act)


def stored(process: Process) -> dict[str, Row]:
    """All tasks as they are stored now, read past the gate: nothing can happen in between."""
    found = plain_rows({"tasks": process.world.rows()["tasks"]})
    return {row["id"]: row for row in found.get("tasks", [])}


def brief(text: Any) -> str:
    """A value as a message shows it: of a long text how long it is, and its end."""
    return repr(text) if len(repr(text)) <= 60 else f"{len(text)} characters ending in {text[-12:]!r}"


CUT_TIME = "a time is cut to whole seconds: `now` has fractions"


def is_cut(stored: Any, wanted: str) -> bool:
    """Whether a time is stored as this one without its fractions of a second."""
    whole, _, fraction = wanted.partition(".")
    return bool(fraction) and stored == whole + fraction[6:]


def changed(before: Row, now: Row) -> dict[str, Any]:
    """The columns of a row that are others than before, with what they are now."""
    return {name: value for name, value in now.items() if name not in COUNTS and value != before.get(name)}
