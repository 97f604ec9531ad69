"""What the command line does with checks: `exercises`, `progress`, `check`, `replay` and `hint`.

Each returns the exit code: 0 when it holds, 1 when the answer is wrong, 2 when the input could not be used.

Not handled here: arguments (see `cli`).
"""

from __future__ import annotations

import json
import sys

from labkit import workfolder
from labkit.checks import registry, words
from labkit.checks.answer import NotAttempted, read
from labkit.checks.attempt import attempt
from labkit.checks.exercise import SQL
from labkit.checks.judge import HOLDS, NOT_ATTEMPTED, UNUSABLE, CheckReport
from labkit.checks.replay import run_replay
from labkit.checks.ticker import Ticker
from labkit.errors import UsageError
from labkit.faults.picture import text
from labkit.faults.runner import MOVED, UNREACHED
from labkit.faults.schedule import Token
from labkit.faults.trace import Trace

LISTED = ("id", "title", "chapter", "origin", "minutes", "difficulty", "points")
ENGINE_FOR = {"sweep": "sweep", "search": "sweep", "kill": "sweep", "interleave": "interleave"}  # engine -> the cases it is for


def exercises(as_json: bool = False) -> int:
    """List the exercises."""
    passed = workfolder.passed_ids()
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


def progress() -> int:
    """One line per exercise, in the order of the course, and the sum; `UsageError` outside of a work folder."""
    workfolder.need()
    passed, places = workfolder.passed_ids(), workfolder.exercises()
    for exercise in registry.ids():
        print(f"{'passed' if exercise in passed else '-':8}{exercise:16}{places.get(exercise, 'no notebook asks for it yet')}")
    print(f"{len(passed & {*registry.ids()})} of {len(registry.ids())} exercises passed")
    return 0


def check(exercise: str, file: str | None, *, as_json: bool = False, engine: str | None = None, database: str | None = None) -> int:
    """Check an answer and print the report."""
    _refuse_engine(exercise, engine)
    _refuse_database(exercise, database)
    databases = (database,) if database else SQL
    with Ticker(sys.stderr) as ticker:
        report = attempt(
            exercise,
            lambda: read(file or _own(exercise), exercise),
            databases=databases,
            engine=engine if engine in ("search", "kill") else "",  # the others are how the cases are run anyway
            told=ticker,
        )
    if as_json:
        print(json.dumps(report.to_data()))
    elif report.verdict == UNUSABLE:
        print(f"labkit: {report.message}", file=sys.stderr)
    else:
        print(words.whole(report, file or ""))
    if report.unrecorded:
        print(report.unrecorded, file=sys.stderr)
    return 0 if report.verdict == HOLDS else 2 if report.verdict == UNUSABLE else 1


def replay(token: str, file: str | None) -> int:
    """Run one token with an answer, draw what happened and say whether anything broke.

    Where a fault of it strikes nothing, the first line says so and nothing is shown by the run. A stub is `not attempted`, as in a check.
    """
    asked = Token.parse(token)
    exercise, _, case = asked.scenario.partition(".")
    if exercise not in registry.ids():
        raise UsageError(f"{exercise!r} is no exercise: the token of a lesson is replayed in its notebook, by replay(), and needs its code")
    try:
        trace = run_replay(token, read(file or _own(exercise), exercise))
    except NotAttempted as error:
        print(words.headline(CheckReport(exercise, NOT_ATTEMPTED, message=str(error))))
        return 1
    missed = _missed(trace)
    if missed:
        print(f"labkit: not every fault of the token strikes here: {'; '.join(missed)}")
    print(text(trace))
    # subtle: an answer that never calls is broken by an exercise's own schedule without being struck by it.
    if missed and not (trace.broken and str(asked.schedule) in registry.with_case(exercise, case).case(case).schedules):
        return 2
    if not trace.broken:
        print("nothing broke in this run")
    return 1 if trace.broken else 0


def hint(exercise: str, level: int | None = None) -> int:
    """Print one hint; level 1 is a nudge, the last is nearly there."""
    asked, level = registry.find(exercise), 1 if level is None else level
    print(f"{asked.hint(level)}\n(hint {level} of {len(asked.hints)})")
    return 0


def _own(exercise: str) -> str:
    """The learner's own notebook for an exercise, in the work folder."""
    folder = workfolder.find()
    if folder is None:
        raise UsageError("which file? Name it at the end, or run this inside a work folder made by `labkit lab`")
    name = workfolder.exercises().get(exercise)
    if name is None:
        raise UsageError(f"no notebook asks for {exercise} yet: name a file")
    if not (folder / name).exists():
        raise UsageError(f"{name} is gone from the work folder: labkit reset {exercise} brings it back")
    return str(folder / name)


def _refuse_engine(exercise: str, engine: str | None) -> None:
    """Raise `UsageError` when the exercise has no case for this engine."""
    kind = ENGINE_FOR[engine] if engine else ""
    if kind and not any(case.engine == kind for case in registry.find(exercise).cases):
        why = "it has no crash points" if kind == "sweep" else "nothing in it runs at once"
        raise UsageError(f"--engine {engine} is not for {exercise}: {why}")


def _refuse_database(exercise: str, database: str | None) -> None:
    """Raise `UsageError` when the exercise has no case for this database."""
    if database and database not in registry.find(exercise).databases:
        raise UsageError(f"--database {database} is not for {exercise}: nothing in it uses {'that' if registry.find(exercise).databases else 'a'} database")


def _missed(trace: Trace) -> list[str]:
    """The places of faults that this run never reached, or at which something else stood."""
    notes = [line for line in trace.lines if line.kind == "note" and not line.process]
    return [f"{line.text}: {line.label}" for line in notes if line.label in (UNREACHED, MOVED)]
