"""What a class was asked for: the released notebooks, and for each exercise in them its points.

Everything is read off the masters and made anew by `release`, so a grader can never expect something else than learners were given.

Not handled here: what came back (see `collect`, `submission`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.checks import registry
from labkit.checks.exercise import Exercise
from labkit.classroom import marks
from labkit.classroom.notebook import Notebook, about, find, load, text
from labkit.classroom.release import release
from labkit.errors import UsageError


@dataclass(frozen=True)
class Assignment:
    """One released notebook: its name below the folder of masters, and the points of each exercise in it, in order."""

    name: str
    book: Notebook
    points: Mapping[str, int]

    @property
    def digest(self) -> str:
        """Of what was handed out: a submission that carries another one comes from another release."""
        return str(about(self.book)["digest"])


def read(masters: Path) -> list[Assignment]:
    """The assignments below a folder of masters, sorted by name. Raises `UsageError` for a folder that cannot be graded by."""
    if not masters.is_dir():
        raise UsageError(f"{masters} is no folder: name the one that holds the masters with --masters")
    found = []
    for path in find([masters]):
        name = path.relative_to(masters).as_posix()
        master = load(path)
        book = release(master, name)
        _has_answers(master, path)
        points = {exercise.id: _points(book, exercise) for exercise in _exercises(book, name)}
        found += [Assignment(name, book, points)] if points else []
    if not found:
        raise UsageError(f"{masters} holds no master: no notebook in it has a cell with the role solution")
    _no_doubles(found)
    return found


def _has_answers(master: Notebook, path: Path) -> None:
    """What was handed out passes for a master that nobody can be graded by."""
    for number, cell in enumerate(master["cells"], 1):
        if about(cell).get("role") == "solution" and not marks.marked(text(cell["source"]), f"{path}, cell {number}"):
            raise UsageError(f"{path} was handed out and is no master (its {about(cell)['id']} is the stub): name the folder of the masters with --masters")


def _exercises(book: Notebook, name: str) -> list[Exercise]:
    ids = [about(cell)["id"] for cell in book["cells"] if about(cell).get("role") == "solution"]
    unknown = [one for one in ids if one not in registry.ids()]
    if unknown:
        raise UsageError(f"{name}: there is no check for {unknown[0]!r}; {registry.known()}")
    return [registry.find(one) for one in ids]


def _points(book: Notebook, exercise: Exercise) -> int:
    """The points that the notebook gives for its cells `<id>` and `<id>-...`; those of the exercise where it gives none."""
    said = [about(cell) for cell in book["cells"]]
    given = [one["points"] for one in said if "points" in one and (one["id"] == exercise.id or one["id"].startswith(f"{exercise.id}-"))]
    return sum(given) if given else exercise.points


def _no_doubles(found: list[Assignment]) -> None:
    at: dict[str, str] = {}
    for assignment in found:
        for exercise in assignment.points:
            if exercise in at:
                raise UsageError(f"the exercise {exercise} stands in two masters, {at[exercise]} and {assignment.name}")
            at[exercise] = assignment.name
