"""The corpus that proves the checks: wrong answers do not hold, and the diagnosis names the bug."""

import pytest

from labkit.checks.judge import HOLDS, UNHEARD_OF, UNUSABLE
from labkit.checks.run import run_check
from tests.corpus import DIAGNOSED, WRONG, exercise, name


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
