"""The folders of a grading: what came back, the masters, the report. One that cannot be meant is refused before anything is graded or written.

A course has the form of a class, with learners who are called like its parts; so it is known by what lies in it.

Not handled here: which file is whose (see `collect`), and what the masters hold (see `assignments`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryFile

from labkit.classroom.assignments import Assignment
from labkit.classroom.collect import Collected, collect
from labkit.classroom.release import MASTERS, RELEASE
from labkit.errors import UsageError

LEARNERS = "learners"  # the folder of their pages
FILES = ("index.html", "grades.csv", "details.jsonl", "junit.xml", "timing.json")  # of the report, beside these
LAYOUT = "name the folder that holds <learner>/... or <learner>__<exercise>.ipynb for each learner"


def look(folder: Path, out: Path, masters: Path) -> None:
    """Raises `UsageError` where one of them cannot be, or lies within another one."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: name the one with the learners' files in it")
    if _within(out, folder) or _within(folder, out):
        raise UsageError("the report must not lie in the folder of the submissions, nor the other way round: it would be graded next time")
    if _within(out, masters) or _within(masters, out):
        raise UsageError("the report must not lie in the folder of the masters, nor the other way round")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file: name another folder with --out")


def returned(folder: Path, masters: Path, given: Sequence[Assignment]) -> Collected:
    """The files of each learner. Raises `UsageError` where nobody returned anything, and for the folder of a course."""
    if _within(masters, folder) or _within(folder, masters) or _is_course(folder, given):
        raise UsageError(f"{folder} belongs to the course and is not what the learners returned: {LAYOUT}")
    found = collect(folder, {one.name: list(one.points) for one in given})
    if not found.learners:
        there = f"what is there is nobody's ({found.strays[0]})" if found.strays else "it is empty"
        raise UsageError(f"no learner has returned anything to {folder}: {there}; {LAYOUT}")
    return found


def _is_course(folder: Path, given: Sequence[Assignment]) -> bool:
    """Whether it holds a course, or what was handed out, each notebook where the release has it: a learner's lies one folder deeper."""
    here = {path.name for path in folder.iterdir() if path.is_dir()}
    return here >= {MASTERS, RELEASE} or any((folder / one.name).is_file() for one in given if len(PurePath(one.name).parts) > 1)


def ready(out: Path) -> None:
    """Make the folder of the report. Raises `UsageError` where its files cannot be written there."""
    for name in (*FILES, LEARNERS):
        if (out / name).exists() and (out / name).is_dir() != (name == LEARNERS):
            raise UsageError(f"{out / name} is in the way of the report's own: name another folder with --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UsageError(f"no report can be written to {out} ({error.strerror}): name another folder with --out") from None


def _within(one: Path, other: Path) -> bool:
    return one.resolve().is_relative_to(other.resolve())
