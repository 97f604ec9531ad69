"""The whole corpus as a class hands it in: `labkit grade` gives every right answer all points, and no wrong one, whose bug it names.

Learner n hands in the n-th answer to each exercise. Run: `python -m tests.classroom.grading_corpus [EXERCISE ...]`, all exercises unless some are named.
Ends with 0 if every answer was graded as it must be.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from labkit.checks.judge import NOT_ATTEMPTED
from labkit.classroom.assignments import read
from labkit.classroom.grade import default_jobs, grade
from labkit.classroom.gradebook import MISSING, Entry, Row
from labkit.classroom.nbval_run import ERROR, PASSED, TAMPERED
from tests.checkout import ROOT
from tests.corpus import DIAGNOSED, RIGHT, WRONG, exercise, name

MASTERS = ROOT / "solutions"
NOT_GRADED = (PASSED, ERROR, MISSING, NOT_ATTEMPTED, TAMPERED)  # states in which no wrong answer of the corpus ends


def hand_in(folder: Path, exercises: list[str]) -> dict[tuple[str, str], Path]:
    """(learner, exercise) -> the answer that was handed in. Exercises without a master are not graded."""
    counts, given = Counter[str](), dict[tuple[str, str], Path]()
    for path in [*RIGHT, *WRONG]:
        if exercise(path) not in exercises:
            continue
        learner = f"learner-{counts[exercise(path)]:03}"
        counts[exercise(path)] += 1
        (folder / learner).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / learner / f"{exercise(path)}.py")
        given[learner, exercise(path)] = path
    return given


def wrongly_graded(path: Path, entry: Entry) -> str:
    """What is wrong with this entry; "" for nothing."""
    if path.parent.name == "right":
        return "" if (entry.state, entry.points) == (PASSED, entry.most) else f"{entry.state}, {entry.points:g} of {entry.most}: {entry.reason}"
    words = path.read_text(encoding="utf-8").splitlines()[1].removeprefix(DIAGNOSED)
    diagnoses = [one.diagnosis for one in entry.report.properties] if entry.report else []
    if entry.state in NOT_GRADED or entry.points >= entry.most:
        return f"{entry.state}, {entry.points:g} of {entry.most}: {entry.reason}"
    return "" if any(words in diagnosis for diagnosis in diagnoses) else f"nobody says {words!r}, but {[one for one in diagnoses if one]}"


def main(exercises: list[str]) -> int:
    with tempfile.TemporaryDirectory() as place:
        graded = [name for one in read(MASTERS) for name in one.points]
        given = hand_in(Path(place) / "returned", exercises or graded)
        book = grade(Path(place) / "returned", Path(place) / "report", MASTERS, seed=4711, jobs=default_jobs())
        rows = {row.learner: row for row in book.rows}
        found = list(_told(given, rows))
    print("\n".join([*found, f"{len(given)} answers graded, {len(found)} not as they must be"]))
    return int(bool(found))


def _told(given: dict[tuple[str, str], Path], rows: dict[str, Row]) -> Iterator[str]:
    for (learner, asked), path in given.items():
        entry = rows[learner].entries[asked]
        if wrong := wrongly_graded(path, entry):
            yield f"{name(path)} ({path.parent.name}): {wrong}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
