"""The corpus that proves the checks: wrong answers do not hold, and the diagnosis names the bug."""

import pytest

from labkit.checks.judge import HOLDS, UNHEARD_OF, UNUSABLE
from labkit.checks.listening import Patience
from labkit.checks.run import run_check
from tests.corpus import DIAGNOSED, WRONG, exercise, name

AT_FIRST = Patience(for_more=False)  # until the first property breaks


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("path", WRONG, ids=name)
def test_wrong_answer_does_not_hold(path):
    """A wrong answer does not hold, and its bug is named by what breaks first; or else by what is shown first when all is known."""
    source = path.read_text()
    words = source.splitlines()[1].removeprefix(DIAGNOSED)
    report = run_check(exercise(path), source, patience=AT_FIRST)
    if report.first_broken is None or words not in report.first_broken.diagnosis:
        report = run_check(exercise(path), source)
    assert report.verdict not in (HOLDS, UNUSABLE), report.message
    assert UNHEARD_OF not in [one.diagnosis for one in report.properties]
    assert words in report.first_broken.diagnosis
