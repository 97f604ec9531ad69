"""What of this machine labkit can use: one line for each part, and what to do where it is missing.

Nothing is installed or changed; PostgreSQL is started if that is how it is used. What is set in the environment is named, its value never told.

Not handled here: whether the lessons run (`make test` shows that), and a course (see `lint`).
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from labkit.checks import registry
from labkit.classroom import box
from labkit.errors import LabkitError, PostgresUnavailable, UsageError
from labkit.faults.nursery import CAN_FORK
from labkit.material import OWN_EXERCISES, own_exercises

OK, MISSING, LIMITED = "ok", "no", "--"
EXTRAS = {  # extra -> (module, what needs it)
    "notebook": ("jupyterlab", "notebooks"),
    "search": ("hypothesis", "the engine search"),
    "agent": ("openai", "the lessons and exercises on agents"),
    "server": ("starlette", "labkit serve, the exercises endpoint and sse"),
    "mcp": ("mcp", "labkit mcp"),
    "engine": ("dbos", "the lesson on choosing an engine"),
    "grade": ("nbval", "labkit grade"),
}
SET = ("LABKIT_DATABASE_URL", "LABKIT_EXERCISES", "LABKIT_MODEL", "LABKIT_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL")
OLDEST_SQLITE = (3, 35, 0)  # UPDATE ... RETURNING


@dataclass(frozen=True)
class Finding:
    """One part of the machine: ok, missing though something needs it, or there with limits."""

    sign: str
    part: str
    text: str


def look() -> Iterator[Finding]:
    """Look at each part in turn."""
    yield _python()
    yield _sqlite()
    yield from map(_extra, EXTRAS)
    yield _postgres()
    yield _forks()
    yield _isolation()
    yield _writable(Path.cwd())
    yield _exercises()
    named = [name for name in SET if os.environ.get(name)]
    yield Finding(OK, "environment", f"set: {', '.join(named)}" if named else "nothing of labkit's is set")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    fine = sys.version_info >= (3, 11)
    return Finding(OK if fine else MISSING, "python", version if fine else f"{version}: labkit needs 3.11 or newer")


def _sqlite() -> Finding:
    fine = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    more = "" if fine else ": labkit needs 3.35 or newer; another build of Python brings one"
    return Finding(OK if fine else MISSING, "sqlite", sqlite3.sqlite_version + more)


def _extra(extra: str) -> Finding:
    module, what = EXTRAS[extra]
    if find_spec(module) is None:
        return Finding(LIMITED, extra, f"{module} is not installed, so no {what}; in the checkout: python -m pip install '.[{extra}]'")
    return Finding(OK, extra, f"{module} {metadata.version(module)}")


def _postgres() -> Finding:
    try:
        from labkit.postgres import fresh_database

        with fresh_database():
            return Finding(OK, "postgres", "answers, and a database can be made")
    except PostgresUnavailable as error:
        return Finding(MISSING if error.named else LIMITED, "postgres", str(error))
    except ModuleNotFoundError as error:
        return Finding(LIMITED, "postgres", f"{error.name} is not installed; in the checkout: python -m pip install '.[postgres]'")


def _forks() -> Finding:
    return Finding(OK, "processes", "fork: a check starts in milliseconds") if CAN_FORK else Finding(LIMITED, "processes", "no fork here: a check is slower")


def _isolation() -> Finding:
    try:
        level = box.strongest()
        return Finding(OK if level != box.LEVELS[0] else LIMITED, "isolation", f"{level}: {box.promises(level)}")
    except LabkitError as error:
        return Finding(LIMITED, "isolation", str(error))


def _exercises() -> Finding:
    try:
        own = [one.id for one in registry.every() if one.id not in registry.IDS]
    except UsageError as error:
        return Finding(MISSING, "exercises", str(error))
    place = own_exercises().get(OWN_EXERCISES, "")
    more = f", and of the course's own: {', '.join(own)}" if own else f", and none in {place}" if place else ""
    return Finding(OK if own or not place else LIMITED, "exercises", f"{len(registry.IDS)}{more}")


def _writable(folder: Path) -> Finding:
    fine = os.access(folder, os.W_OK)
    return Finding(OK if fine else MISSING, "folder", f"{'may' if fine else 'may not'} be written to: the one you are in")


def command(say: Callable[[str], object]) -> int:
    """`labkit doctor`: 1 when something is missing that everybody needs."""
    findings = []
    for one in look():
        findings.append(one)
        say(f"{one.sign:3}{one.part:13}{one.text}")
    return 1 if any(one.sign == MISSING for one in findings) else 0
