"""The same notebooks as a course of nbgrader: an assignment of one notebook, and a submission for each learner.

The cells are marked as nbgrader wants it: the answer is a solution, the check a test with points, the rest is locked.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from labkit.classroom.notebook import Notebook, about, dump, write

ASSIGNMENT = "week1"
CONFIG = "c = get_config()\nc.CourseDirectory.root = {root!r}\nc.CourseDirectory.course_id = 'bench'\nc.ExecutePreprocessor.timeout = 30\n"
ROLES = {"solution": (False, True, False), "check": (True, False, True)}  # role -> grade, solution, locked


def marked(book: Notebook) -> Notebook:
    """A released notebook with nbgrader's marks."""
    cells = []
    for number, cell in enumerate(book["cells"]):
        grade, solution, locked = ROLES.get(about(cell).get("role", ""), (False, False, True))
        marks = {"grade": grade, "solution": solution, "locked": locked, "task": False, "schema_version": 3}
        marks |= {"grade_id": cell.get("id") or f"cell-{number}", "cell_type": cell["cell_type"]}
        cells.append({**cell, "metadata": {**cell["metadata"], "nbgrader": marks | ({"points": 8} if grade else {})}})
    return {**book, "cells": cells}


def make(folder: Path, python: str, environment: Mapping[str, str], asked: Notebook, submitted: list[Notebook]) -> None:
    """The course below a folder: asked for, and handed in."""
    write(folder / "nbgrader_config.py", CONFIG.format(root=str(folder)).encode())
    write(folder / "source" / ASSIGNMENT / "exercise.ipynb", dump(marked(asked)))
    for number, book in enumerate(submitted):
        write(folder / "submitted" / f"learner{number:02}" / ASSIGNMENT / "exercise.ipynb", dump(marked(book)))
    run(folder, python, environment, "generate_assignment", ASSIGNMENT)


def run(folder: Path, python: str, environment: Mapping[str, str], *words: str) -> None:
    """One command of nbgrader in the course."""
    done = subprocess.run(
        [python, "-m", "nbgrader", *words, "--force"], cwd=folder, env=dict(environment), capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"nbgrader {words[0]} failed:\n{done.stderr[-2000:]}")
