"""One learner's row: read what came back, put the answers into the master's place, let both passes speak.

Whatever is in the files, the row comes out: what cannot be read or judged is 0 with a reason, and what goes wrong in the grader itself costs this
learner's row and no other.

Not handled here: the class (see `grade`), what points are given for (see `gradebook`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.checks.answer import NOT_PARSED, PYTHON
from labkit.checks.judge import NOT_ATTEMPTED, CheckReport
from labkit.checks.replay import run_replay
from labkit.checks.texts import printable
from labkit.classroom.assignments import Assignment
from labkit.classroom.box import Box
from labkit.classroom.collect import asked_for, called
from labkit.classroom.gradebook import Entry, Row, expected
from labkit.classroom.hidden import judge_hidden
from labkit.classroom.nbval_run import BLOCKED, ERROR, FAILED, PASSED, TAMPERED, TIMEOUT
from labkit.classroom.notebook import Notebook
from labkit.classroom.placing import ANSWERED, UNTOUCHED
from labkit.classroom.public import PublicCell, run_public, without_judged
from labkit.classroom.splice import Placed, Spliced, splice
from labkit.classroom.submission import Flag, Submission, Unreadable, read, shown
from labkit.classroom.suspicious import look
from labkit.errors import UsageError
from labkit.faults.picture import svg

WORST_FIRST = (TAMPERED, ERROR, TIMEOUT, FAILED, BLOCKED, PASSED)


@dataclass(frozen=True)
class How:
    """What decides about every result: the seed of the second run, the databases, and the box for foreign code."""

    seed: int
    databases: tuple[str, ...]
    box: Box


def grade_learner(learner: str, files: Iterable[Path], assignments: Sequence[Assignment], how: How) -> Row:
    """The row of one learner, from the files that are hers or his. Raises only what stops the whole grader."""
    row = expected(learner, assignments)
    files = list(files)
    submissions = _read(row, files)
    spliced = {one.name: splice(one.book, submissions) for one in assignments}
    for found in spliced.values():
        row.flags += [flag for flag in found.flags if flag not in row.flags]
        for exercise, placed in found.answers.items():
            _settle(row.entries[exercise], placed, how)
        _tell_python(row, submissions, found)
    _tell_unknown(row, files, assignments)
    _tell_unused(row, submissions, spliced)
    _run_notebooks(row, spliced, how)
    return row


def _tell_unknown(row: Row, files: Sequence[Path], assignments: Sequence[Assignment]) -> None:
    """A file whose name asks for an exercise that there is not is told: it may be misspelt, or of another course."""
    known = {"", *(one.lower() for one in row.entries), *(Path(one.name).stem.lower() for one in assignments)}
    for file in files:
        if (name := asked_for(file, row.learner)) not in known:
            taken = ", ".join(entry.exercise for entry in row.entries.values() if entry.file == shown(file))
            meant = f"its answer was taken for {taken}" if taken else "was another one meant?"
            row.flags.append(Flag("unknown exercise", f"{shown(file)}: there is no exercise {printable(name)!r} in this course; {meant}"))


def _tell_python(row: Row, submissions: Sequence[Submission], found: Spliced) -> None:
    """Where an answer does not parse, and was written with a newer Python than ours, that is told: it may be right there."""
    versions = {one.name: one.python for one in submissions}
    for exercise, placed in found.answers.items():
        entry, version = row.entries[exercise], versions.get(placed.file, "")
        if NOT_PARSED in entry.reason and _parts(version) > sys.version_info[:2]:
            said = f"{printable(placed.file)} was run with Python {printable(version)[:20]} and is graded with {PYTHON}, which does not understand it"
            entry.flags.append(Flag("other Python", said))


def _parts(version: str) -> tuple[int, ...]:
    """The first two numbers of a version; none for what is no version."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", version)
    return tuple(map(int, found.groups())) if found else ()


def _tell_unused(row: Row, submissions: Sequence[Submission], spliced: Mapping[str, Spliced]) -> None:
    """A file from which no answer was taken is told: a learner will ask for it."""
    answers = [placed for found in spliced.values() for placed in found.answers.values()]
    used = {placed.file for placed in answers}.union(*(placed.others for placed in answers))
    for name in sorted({one.name for one in submissions} - used):
        row.flags.append(Flag("not used", f"no answer was found in {printable(name)}"))


def _read(row: Row, files: Iterable[Path]) -> list[Submission]:
    """What can be read of a learner's files; of the others the row says why not."""
    found = []
    for file in files:
        try:
            found.append(read(file))
            row.flags += found[-1].flags
        except Unreadable as error:
            row.flags.append(Flag("unreadable", str(error)))
            for name in {called(file), called(Path(file.stem))} & row.entries.keys():  # the second of `retry.ipynb.txt`
                row.entries[name].state, row.entries[name].reason = ERROR, str(error)
    return found


def _settle(entry: Entry, placed: Placed, how: How) -> None:
    """Judge one answer, where there is one."""
    entry.file, entry.rule, entry.flags = placed.file, placed.rule, list(placed.flags)
    if placed.state == UNTOUCHED:
        entry.state, entry.reason = NOT_ATTEMPTED, "the answer is still the stub"
    if placed.state != ANSWERED or placed.source is None:
        return
    entry.flags += look(placed.source)
    result = judge_hidden(entry.exercise, placed.source, seed=how.seed, box=how.box, databases=how.databases)
    entry.settle(result.report, result.tampered)
    entry.isolation = result.isolation
    if result.unwitnessed:
        entry.flags.append(Flag("not witnessed", f"{entry.exercise}: {result.unwitnessed}"))
    entry.picture = _picture(result.report, placed.source, how)


def _picture(report: CheckReport, source: str, how: How) -> str:
    """The simplest run that breaks what broke first, drawn; "" where nothing can be drawn."""
    first = report.first_broken
    if first is None or not first.token:
        return ""
    try:
        trace = run_replay(first.token, source, judged=False, nursery=how.box.nursery)
    except UsageError:  # what never ends cannot be drawn
        return ""
    return printable(svg(replace(trace, token=""), title="The simplest run that breaks it"))


def _run_notebooks(row: Row, spliced: Mapping[str, Spliced], how: How) -> None:
    """The public pass: each notebook with an answer in it from top to bottom, as a learner runs it, but for the checks of what was judged.

    It gives no points, but it can find tampering.
    """
    answered = {name: {id for id, placed in one.answers.items() if placed.state == ANSWERED} for name, one in spliced.items()}
    books = {name: without_judged(spliced[name].book, judged) for name, judged in answered.items() if judged}
    if not books:
        return
    for name, cells in _run(books, how).items():
        worst = min(cells, key=lambda cell: WORST_FIRST.index(cell.state))
        for exercise in answered[name]:
            _tell(row.entries[exercise], worst)


def _run(books: dict[str, Notebook], how: How) -> dict[str, list[PublicCell]]:
    """What became of each notebook; where they could not be run at all, that is what became of them."""
    try:
        with how.box.folder() as folder:
            box = how.box
            return run_public(books, folder, wrap=box.wrap, environment=box.environment, sent=box.kernels, lifeline=box.lifeline)
    except UsageError as error:
        return {name: [PublicCell("", ERROR, str(error))] for name in books}


def _tell(entry: Entry, worst: PublicCell) -> None:
    entry.public, entry.public_reason = worst.state, worst.message
    if worst.state == TAMPERED:
        entry.state, entry.points, entry.reason = TAMPERED, 0.0, worst.message


def failed_to_grade(learner: str, assignments: Sequence[Assignment], error: BaseException) -> Row:
    """The row of a learner on whom the grader itself broke: 0 for now, and said as that."""
    row = expected(learner, assignments)
    said = (str(error).splitlines() or [""])[0][:200]
    for entry in row.entries.values():
        entry.state, entry.reason = ERROR, f"the grader itself failed ({type(error).__name__}: {said}); grade again, nothing is said about this answer"
    row.flags.append(Flag("grader failed", f"{type(error).__name__}: {said}"))
    return row
