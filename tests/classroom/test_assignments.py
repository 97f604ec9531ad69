"""What a class was asked for, read off the masters; and exercises of a course's own."""

import pytest

from labkit.checks import registry
from labkit.classroom import assignments
from labkit.classroom.notebook import dump
from labkit.classroom.release import release
from labkit.errors import UsageError
from tests.checkout import ROOT
from tests.classroom.test_release import cell, master

OWN = '''
from labkit.checks.common import ends
from labkit.checks.exercise import Case, Exercise

EXERCISE = Exercise(
    id="{id}", title="Mine", chapter=1, origin="+", minutes=5, difficulty=1, points=3, signatures={{"mine": ()}},
    cases=(Case("one", lambda answer: [lambda process: answer.fresh()["mine"]()]),), properties=(ends(),), hints=("a", "b", "c"),
)
'''


def solution(id):
    return cell(f"# labkit: {id}\ndef f():\n    return 1  # SOLUTION", id=id, role="solution")


def course(tmp_path, **masters):
    for name, cells in masters.items():
        (tmp_path / f"{name}.ipynb").write_bytes(dump(master(*cells)))
    return tmp_path


def test_points_of_the_notebook_count(tmp_path):
    """An author's points are those of the cells of an exercise; without any, the check's own count."""
    check = cell('check("retry")', id="retry-check", role="check", points=5)
    (given,) = assignments.read(course(tmp_path, a=[solution("retry"), check, solution("claim")]))
    assert given.points == {"retry": 5, "claim": registry.find("claim").points}


@pytest.mark.parametrize(
    ("masters", "said"),
    [
        ({}, "holds no master"),
        ({"a": [cell("1 + 1")]}, "holds no master"),
        ({"a": [solution("nobody_knows")]}, "there is no check for 'nobody_knows'"),
        ({"a": [solution("retry")], "b": [solution("retry")]}, "stands in two masters, a.ipynb and b.ipynb"),
    ],
)
def test_masters_that_cannot_be_graded_by(tmp_path, masters, said):
    """One line says what is wrong with a folder of masters."""
    with pytest.raises(UsageError, match=said):
        assignments.read(course(tmp_path, **masters))


def test_what_was_handed_out_is_no_master(tmp_path):
    """Nobody could pass by a stub: a release given for the masters is refused, and the line says what to name."""
    (tmp_path / "a.ipynb").write_bytes(dump(release(master(solution("retry")), "a.ipynb")))
    with pytest.raises(UsageError, match=r"a.ipynb was handed out and is no master \(its retry is the stub\): name the folder of the masters with --masters"):
        assignments.read(tmp_path)


def test_a_folder_that_is_not_there(tmp_path):
    """A folder of masters that does not exist is said so."""
    with pytest.raises(UsageError, match="--masters"):
        assignments.read(tmp_path / "nowhere")


def test_all_of_ours(monkeypatch):
    """Each exercise of chapters 11 and 21 stands in one master."""
    monkeypatch.delenv(registry.FOLDER, raising=False)
    asked = [exercise for one in assignments.read(ROOT / "solutions") for exercise in one.points]
    assert sorted(asked) == sorted(one.id for one in registry.every() if one.chapter > 0)


def test_an_exercise_of_ones_own(tmp_path, monkeypatch):
    """A module in the folder that LABKIT_EXERCISES names is an exercise like the others, the last in the course."""
    (tmp_path / "mine.py").write_text(OWN.format(id="mine"))
    monkeypatch.setenv(registry.FOLDER, str(tmp_path))
    assert registry.ids()[-1] == "mine"
    assert registry.find("mine").title == "Mine"
    (given,) = assignments.read(course(tmp_path, mine=[solution("mine")]))
    assert given.points == {"mine": 3}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("retry", OWN.format(id="retry"), "has an exercise retry already"),
        ("mine", OWN.format(id="yours"), "whose id is 'mine'"),
        ("mine", "EXERCISE = 1", "whose id is 'mine'"),
        ("mine", "import nowhere_at_all", "ModuleNotFoundError"),
        ("mine", "def (", "SyntaxError"),
    ],
)
def test_an_exercise_that_cannot_be_used(tmp_path, monkeypatch, name, text, said):
    """Whatever is wrong with a module of a course, one line says which and why."""
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv(registry.FOLDER, str(tmp_path))
    with pytest.raises(UsageError, match=said):
        registry.find(name if name != "retry" else "mine")


def test_a_folder_of_exercises_that_is_not_there(tmp_path, monkeypatch):
    """A folder that LABKIT_EXERCISES names and that is not there is said so at once."""
    monkeypatch.setenv(registry.FOLDER, str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="no folder"):
        registry.ids()
