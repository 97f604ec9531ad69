"""The hot statements as text for one driver, written once for both databases.

In a template `{now}` is the instant of the statement and `{expires}` the end of the lease that it gives; `:name` is a
parameter. PostgreSQL gets `with` or `with_more` before the first and further CTEs. SQLite has the instant from outside,
or in a statement that needs it once, as `{own_now}`, by itself.

Not handled here: running them (see `commit`).
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from sqlalchemy.dialects import sqlite

from labkit.database import db_now, parse_time
from labkit.task import Task, TaskState

_NAMES = [field.name for field in fields(Task)]
COLUMNS = ", ".join(_NAMES)
_TIME_PLACES = [place for place, name in enumerate(_NAMES) if name.endswith("_at")]
UPDATED = _NAMES.index("updated_at")
_STATE_PLACE, _STATES = _NAMES.index("state"), {str(state): state for state in TaskState}
_NOW_ON_SQLITE = str(db_now().compile(dialect=sqlite.dialect()))
ASK_NOW_ON_SQLITE = f"SELECT {_NOW_ON_SQLITE}"
# subtle: asked once for a statement, since clock_timestamp() runs on while the statement does
_MOMENT = "moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), clock_timestamp()) AS at)"
_WORDS = {
    "sqlite": {
        "with": "",
        "with_more": "WITH ",
        "now": ":now",
        "own_now": f"coalesce(:now, {_NOW_ON_SQLITE})",
        "expires": ":expires",
    },
    "postgresql": {
        "with": f"WITH {_MOMENT} ",
        "with_more": f"WITH {_MOMENT}, ",
        "now": "(SELECT at FROM moment)",
        "own_now": "(SELECT at FROM moment)",
        "expires": "(SELECT at FROM moment) + make_interval(secs => :seconds)",
    },
}


def in_dialect(dialect: str, template: str, **words: str) -> str:
    """A statement for one database."""
    made = template.format(**_WORDS[dialect], **words)
    return re.sub(r":(\w+)", r"%(\1)s", made) if dialect == "postgresql" else made


def for_both(template: str, **words: str) -> dict[str, str]:
    """The same statement for each database, by the dialect's name."""
    return {dialect: in_dialect(dialect, template, **words) for dialect in _WORDS}


def task_of(row: tuple[Any, ...]) -> Task:
    """The task in a row of `COLUMNS`."""
    values = list(row)
    for place in _TIME_PLACES:
        if values[place] is not None:
            values[place] = parse_time(values[place])
    values[_STATE_PLACE] = _STATES[values[_STATE_PLACE]]
    return Task(*values)
