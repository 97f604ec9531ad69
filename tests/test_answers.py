"""The corpus that proves the checks is whole: each exercise has answers enough of both kinds, and each says what it is.

A wrong answer's first line says what is wrong with it, its second what the check must say: `# diagnosed: <words of the diagnosis>`.
"""

import pytest

from labkit.checks import registry
from tests.corpus import DIAGNOSED, RIGHT, WRONG, exercise, name

LEAST = {"right": 3, "wrong": 6}


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
