"""What a class hands in: the released notebooks with answers of the corpus put into them, the same for every run.

Two of three answers are right; who gets which is counted off, so no two learners of a small class hand in the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labkit.classroom.notebook import Notebook, about, dump, find, lines, load, write
from labkit.classroom.release import release

ROOT = Path(__file__).parents[2]
MASTERS, ANSWERS = ROOT / "solutions", ROOT / "tests" / "answers"


def released() -> dict[str, tuple[str, Notebook]]:
    """Exercise id -> the notebook that asks for it: its name and what was handed out."""
    found = {}
    for path in find([MASTERS]):
        name = path.relative_to(MASTERS).as_posix()
        book = release(load(path), name)
        found |= {about(cell)["id"]: (name, book) for cell in book["cells"] if about(cell).get("role") == "solution"}
    return found


def answer(exercise: str, number: int) -> str:
    """One of the corpus's answers, with its anchor; the number says which."""
    kind = "wrong" if number % 3 == 2 else "right"
    answers = sorted((ANSWERS / exercise / kind).glob("*.py"))
    return f"# labkit: {exercise}\n{answers[number // 3 % len(answers)].read_text(encoding='utf-8')}"


def filled(book: Notebook, exercise: str, source: str) -> Notebook:
    """The notebook with this answer in the exercise's cell."""
    cells = [{**cell, "source": lines(source)} if _asks(cell, exercise) else cell for cell in book["cells"]]
    return {**book, "cells": cells}


def _asks(cell: dict[str, object], exercise: str) -> bool:
    said = about(cell)
    return said.get("role") == "solution" and said["id"] == exercise


def a_class(folder: Path, learners: int, exercises: tuple[str, ...] = ()) -> Iterator[str]:
    """Write `FOLDER/learner-NN/<notebook>` for each learner and each exercise (all of them without a choice); yields what was written."""
    books = released()
    for learner in range(learners):
        for place, exercise in enumerate(exercises or sorted(books)):
            name, book = books[exercise]
            path = folder / f"learner-{learner:02}" / name
            write(path, dump(filled(book, exercise, answer(exercise, learner + place))))
            yield path.relative_to(folder).as_posix()
