"""What the command line does with checks: `exercises`, `check`, `replay` and `hint`.

Each returns the exit code: 0 when it holds, 1 when the answer is wrong, 2 when the input could not be used.

Not handled here: arguments (see `cli`).
"""

from __future__ import annotations

import json
import sys

from labkit import workfolder
from labkit.checks import registry, words
from labkit.checks.answer import read
from labkit.checks.attempt import attempt
from labkit.checks.exercise import SQL
from labkit.checks.judge import HOLDS, UNUSABLE
from labkit.checks.run import run_replay
from labkit.checks.ticker import Ticker
from labkit.errors import UsageError
from labkit.faults.picture import text
from labkit.faults.schedule import Token

LISTED = ("id", "title", "chapter", "origin", "minutes", "difficulty", "points")


def exercises(as_json: bool = False) -> int:
    """List the exercises."""
    passed = set(workfolder.passed())
    rows = [
        {**{name: getattr(e, name) for name in LISTED}, "passed": e.id in passed}
        for e in registry.every()
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        done = "passed" if row["passed"] else f"{row['minutes']} min"
        print(f"{row['id']:<13} {'*' * int(str(row['difficulty'])):<5} {done:<8} {row['title']}")
    return 0


def check(exercise: str, file: str | None, *, as_json: bool = False, engine: str | None = None, database: str | None = None) -> int:
    """Check an answer and print the report."""
    databases = (database,) if database else SQL
    with Ticker(sys.stderr) as ticker:
        report = attempt(
            exercise,
            lambda: read(file or _own(exercise), exercise),
            databases=databases,
            engine=engine or "",
            told=ticker,
        )
    if as_json:
        print(json.dumps(report.to_data()))
    elif report.verdict == UNUSABLE:
        print(f"labkit: {report.message}", file=sys.stderr)
    else:
        print(words.whole(report))
    return 0 if report.verdict == HOLDS else 2 if report.verdict == UNUSABLE else 1


def replay(token: str, file: str | None) -> int:
    """Run one token with an answer and draw what happened."""
    exercise = Token.parse(token).scenario.partition(".")[0]
    registry.find(exercise)
    trace = run_replay(token, read(file or _own(exercise), exercise))
    print(text(trace))
    return 1 if trace.broken else 0


def hint(exercise: str, level: int | None = None) -> int:
    """Print one hint; level 1 is a nudge, the last is nearly there."""
    asked, level = registry.find(exercise), level or 1
    print(f"{asked.hint(level)}\n(hint {level} of {len(asked.hints)})")
    return 0


def _own(exercise: str) -> str:
    """The learner's own notebook for an exercise, in the work folder."""
    folder = workfolder.find()
    if folder is None:
        raise UsageError(f"which file? Name it (labkit check {exercise} FILE), or run this inside a work folder made by `labkit lab`")
    return str(folder / workfolder.exercises()[exercise])
