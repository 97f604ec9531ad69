"""The authors' gate: a course of ours passes, and each thing an author can forget is found and named."""

import shutil

import pytest

from labkit.classroom import lint
from labkit.classroom.notebook import dump, load
from labkit.classroom.release import command as release
from labkit.errors import UsageError
from tests.checkout import ROOT

MASTER = "11-state-management/backoff.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course with one exercise of ours, fit to be handed out."""
    shutil.copytree(ROOT / "tests/answers/backoff", tmp_path / "tests/answers/backoff", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "solutions" / MASTER).parent.mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / MASTER, tmp_path / "solutions" / MASTER)
    release(tmp_path / "solutions")
    return tmp_path


def change(path, edit):
    book = load(path)
    edit(book["cells"])
    path.write_bytes(dump(book))


def without_turns(cells):
    cells[:] = [cell for cell in cells if not cell["id"].startswith("turn")]


def broken_master(cells):
    answer = next(cell for cell in cells if cell["id"] == "answer")
    answer["source"] = [line.replace("min(", "max(") for line in answer["source"]]


def test_nothing_to_mend(course):
    """A course that is fit has no finding."""
    assert lint.lint(course) == []


FORGOTTEN = {
    "a file beside the masters": (lambda c: (c / "solutions/notes.txt").write_text("x"), "notes.txt: a stray file"),
    "a file beside the release": (lambda c: (c / "exercises/old.ipynb").write_text("{}"), "old.ipynb: a stray file"),
    "a master that is not normal": (lambda c: (c / "solutions" / MASTER).write_bytes((c / "solutions" / MASTER).read_bytes() + b"\n"), "not in normal form"),
    "a release of yesterday": (lambda c: change(c / "solutions" / MASTER, lambda cells: cells.pop(0)), "not what the masters release now"),
    "an explanation": (lambda c: change(c / "solutions" / MASTER, without_turns), "explains wrong turns"),
    "a master that is wrong": (lambda c: change(c / "solutions" / MASTER, broken_master), "the master of backoff is broken"),
    "answers that are wrong": (lambda c: shutil.rmtree(c / "tests/answers/backoff/wrong"), "wrong: 0 answers"),
    "what a wrong answer is": (lambda c: (c / "tests/answers/backoff/wrong/new.py").write_text("x = 1\n"), "does not say what it is"),
    "a note among the answers": (lambda c: (c / "tests/answers/backoff/right/notes.md").write_text("x"), "only .py answers belong here"),
    "answers to nothing": (lambda c: (c / "tests/answers/nothing").mkdir(), "no master asks for"),
}


@pytest.mark.parametrize("forgotten", FORGOTTEN)
def test_what_an_author_forgets(course, forgotten):
    """Each is found, and the line says where."""
    act, said = FORGOTTEN[forgotten]
    act(course)
    assert [line for line in lint.lint(course) if said in line] != []


def test_a_master_that_cannot_be_read(course):
    """One bad master hides no other finding."""
    (course / "solutions/broken.ipynb").write_text("{")
    (course / "solutions/notes.txt").write_text("x")
    found = "\n".join(lint.lint(course))
    assert "broken.ipynb is not JSON" in found
    assert "notes.txt: a stray file" in found


def test_a_folder_without_a_course(tmp_path):
    """Where there is no folder of masters, one line says what is wanted."""
    with pytest.raises(UsageError, match="solutions"):
        lint.lint(tmp_path)
