"""Seconds for a notebook of the exercise `retry` with a right answer: labkit's public pass, bare nbval and nbgrader's autograde, ten in a call and one.

The notebooks are the same, `show`, `check` and `hint` and all; each pass runs them from top to bottom in kernels of their own. labkit's hidden pass,
which gives the points and needs no kernel, stands beside them. nbgrader has an environment of its own.

Run: python benchmarks/bench_grading.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from grading import hand_in, nbgrader_course
from peers import OURS, installed, python_of, surroundings
from table import seconds, show

from labkit.classroom.box import Box
from labkit.classroom.hidden import judge_hidden
from labkit.classroom.notebook import Notebook, dump, write
from labkit.classroom.public import run_public

EXERCISE = "retry"
CALLS, ROUNDS = (10, 1), 3
NBGRADER = "nbgrader autograde"
# what labkit itself needs in the kernels there comes along; of the versions labkit's are taken
PACKAGES = ("nbgrader==0.9.6", "ipykernel>=7.4", "cloudpickle>=3.1", "greenlet>=3.1", "pydantic>=2", "sqlalchemy>=2.1")
NBVAL = (
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "--nbval-lax",
    "--nbval-current-env",
    "--nbval-cell-timeout",
    "30",
)

Act = Callable[[], object]


def bare_nbval(place: Path, books: list[Notebook]) -> Act:
    for number, book in enumerate(books):
        write(place / f"{number}.ipynb", dump(book))
    return lambda: subprocess.run(
        [sys.executable, *NBVAL, "."], cwd=place, env=surroundings(()), check=True, capture_output=True
    )


def nbgrader(place: Path, books: list[Notebook], asked: Notebook) -> Act:
    python = python_of("nbgrader", PACKAGES)
    programs = os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])  # it starts alembic by its name
    environment = {**surroundings(PACKAGES), "PYTHONPATH": str(OURS), "PATH": programs}
    nbgrader_course.make(place, python, environment, asked, books)
    return lambda: nbgrader_course.run(place, python, environment, "autograde", nbgrader_course.ASSIGNMENT)


def public_pass(books: list[Notebook], box: Box) -> Act:
    def act() -> None:
        with box.folder() as folder:
            ran = run_public(
                {str(n): book for n, book in enumerate(books)}, folder, wrap=box.wrap, environment=box.environment, sent=box.kernels
            )
        states = {cell.state for cells in ran.values() for cell in cells}
        assert states == {"passed"}, ran

    return act


def hidden_pass(source: str, box: Box, times: int) -> Act:
    def act() -> None:
        for seed in range(times):
            judge_hidden(EXERCISE, source, seed=seed, box=box, databases=("sqlite",))

    return act


def measure(times: int, box: Box, place: Path) -> dict[str, list[float]]:
    """Seconds for each notebook, the rounds in turn, so that a busy machine is busy for all."""
    _, asked = hand_in.released()[EXERCISE]
    source = hand_in.answer(EXERCISE, 0)
    books = [hand_in.filled(asked, EXERCISE, source)] * times
    acts = {
        "bare nbval": bare_nbval(place / "nbval", books),
        f"labkit, public pass ({box.level})": public_pass(books, box),
        f"labkit, hidden pass ({box.level})": hidden_pass(source, box, times),
    }
    if installed(NBGRADER, "nbgrader", PACKAGES):
        acts = {NBGRADER: nbgrader(place / "nbgrader", books, asked), **acts}
    found: dict[str, list[float]] = {title: [] for title in acts}
    for _ in range(ROUNDS):
        for title, act in acts.items():
            found[title].append(seconds(act) / times)
    return found


def main() -> None:
    with Box() as box:
        for times in CALLS:
            with tempfile.TemporaryDirectory() as place:
                found = measure(times, box, Path(place))
            first = found[next(iter(found))]
            rows = [
                (title, f"{median(taken):.2f} s", f"{median(t / f for t, f in zip(taken, first, strict=True)):.2f}")
                for title, taken in found.items()
            ]
            show(f"{times} notebook{'s' * (times > 1)} in a call", rows, ("", "a notebook", "ratio"))


if __name__ == "__main__":
    main()
