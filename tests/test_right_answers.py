"""The corpus that proves the checks: right answers in many styles hold."""

import pytest

from labkit import cli
from labkit.checks import registry
from labkit.checks.judge import HOLDS
from labkit.checks.run import run_check
from tests.corpus import RIGHT, exercise, name

ALONE = [(asked.id, database) for asked in registry.every() for database in asked.databases]
FIRST = {exercise(path): path for path in reversed(RIGHT)}
OTHERS = [path for path in RIGHT if path != FIRST[exercise(path)] or not registry.find(exercise(path)).databases]


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("path", OTHERS, ids=name)
def test_right_answer_holds(path):
    """A right answer holds on every database, whatever its style. The first of an exercise is judged on one database after the other, below."""
    report = run_check(exercise(path), path.read_text())
    assert [] == [(one.name, one.message, one.token) for one in report.properties if one.verdict != HOLDS]
    assert HOLDS == report.verdict, report.message
    assert list(registry.find(exercise(path)).databases) == report.databases, report.message


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize(("asked", "database"), ALONE)
def test_one_database_alone(asked, database, capsys):
    """Who asks for one database gets a verdict on what is tested there: a right answer holds, and the command ends with 0."""
    ended = cli.main(["check", asked, str(FIRST[asked]), "--database", database])
    said = capsys.readouterr().out
    assert (0, f"{asked}: holds") == (ended, said.partition(" - ")[0]), said
