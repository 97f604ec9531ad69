"""The corpus that proves the checks: right answers in many styles hold."""

import pytest

from labkit.checks import registry
from labkit.checks.judge import HOLDS
from labkit.checks.run import run_check
from tests.corpus import RIGHT, exercise, name


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_answer_holds(path):
    """A right answer holds on every database, whatever its style."""
    report = run_check(exercise(path), path.read_text())
    assert [] == [(one.name, one.message, one.token) for one in report.properties if one.verdict != HOLDS]
    assert HOLDS == report.verdict, report.message
    assert list(registry.find(exercise(path)).databases) == report.databases, report.message
