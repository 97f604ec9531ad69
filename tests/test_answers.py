"""The corpus that proves the checks: right answers in many styles hold, wrong ones do not, and the diagnosis names the bug.

A wrong answer's first line says what is wrong with it, its second what the check must say: `# diagnosed: <words of the diagnosis>`.
"""

from pathlib import Path

import pytest

from labkit.checks import registry
from labkit.checks.judge import HOLDS, UNHEARD_OF, UNUSABLE
from labkit.checks.run import run_check
from tests.checkout import ROOT

ANSWERS = ROOT / "tests/answers"
RIGHT = sorted(ANSWERS.glob("*/right/*.py"))
WRONG = sorted(ANSWERS.glob("*/wrong/*.py"))
LEAST = {"right": 3, "wrong": 6}
DIAGNOSED = "# diagnosed: "


def name(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


def exercise(path: Path) -> str:
    return path.parent.parent.name


@pytest.mark.parametrize("kind", LEAST)
@pytest.mark.parametrize("asked", registry.IDS)
def test_every_exercise_has_answers(asked, kind):
    """Each exercise has enough answers of both kinds, and each says in its first line what it is."""
    found = [path for path in (RIGHT if kind == "right" else WRONG) if exercise(path) == asked]
    assert LEAST[kind] <= len(found)
    assert [path.stem for path in found if not path.read_text().startswith(f"# {kind}: ")] == []


def test_every_wrong_answer_expects_words():
    """Each wrong answer says with which words its bug must be named."""
    silent = [name(path) for path in WRONG if not path.read_text().splitlines()[1].startswith(DIAGNOSED)]
    assert silent == []


def test_answers_belong_to_exercises():
    """No answer lies where nobody looks."""
    assert {exercise(path) for path in RIGHT + WRONG} == set(registry.IDS)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_answer_holds(path):
    """A right answer holds on every database, whatever its style."""
    report = run_check(exercise(path), path.read_text())
    assert [] == [(one.name, one.message, one.token) for one in report.properties if one.verdict != HOLDS]
    assert HOLDS == report.verdict, report.message
    assert list(registry.find(exercise(path)).databases) == report.databases, report.message


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("path", WRONG, ids=name)
def test_wrong_answer_does_not_hold(path):
    """A wrong answer does not hold, and what is shown first names its bug."""
    source = path.read_text()
    report = run_check(exercise(path), source)
    assert report.verdict not in (HOLDS, UNUSABLE), report.message
    assert UNHEARD_OF not in [one.diagnosis for one in report.properties]
    first = report.first_broken
    assert first is not None
    assert source.splitlines()[1].removeprefix(DIAGNOSED) in first.diagnosis
