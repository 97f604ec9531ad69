"""The ledger: every exercise is there, 0 with a reason until something is known, and points follow from verdicts alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.checks import registry
from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, TOO_SLOW, UNUSABLE, CheckReport, Judged
from labkit.checks.run import run_check
from labkit.classroom import assignments
from labkit.classroom.gradebook import NOTHING_CAME, Entry, Row, earned, expected, state_of
from labkit.classroom.submission import Flag
from tests.checkout import ROOT
from tests.classroom.books import judged, report, settled
from tests.classroom.idle import source


@pytest.fixture(scope="module")
def given_out():
    return assignments.read(ROOT / "solutions")


def test_every_exercise_is_expected_once(given_out):
    """Of a learner who returned nothing each exercise is missing, with 0 of its points and a reason."""
    row = expected("ann", given_out)
    assert sorted(row.entries) == sorted(one.id for one in registry.every() if one.chapter > 0)
    assert {(e.state, e.points, e.reason) for e in row.entries.values()} == {("missing", 0.0, NOTHING_CAME)}
    assert row.most == sum(registry.find(one).points for one in row.entries)


@pytest.mark.parametrize(
    ("verdicts", "points"),
    [
        ((HOLDS, HOLDS), 8),
        ((BROKEN, HOLDS), 4),
        ((BROKEN, HOLDS, HOLDS), 5.33),
        ((BROKEN, NOT_EXERCISED), 0),
        ((BROKEN, BROKEN), 0),
        ((HOLDS, NOT_EXERCISED), 0),
    ],
)
def test_points(verdicts, points):
    """All for what holds, a share per property for what is broken elsewhere, nothing for what shows nothing or only ends."""
    assert settled(*verdicts).points == points


@pytest.mark.sampled
@pytest.mark.parametrize("exercise", registry.IDS)
def test_doing_nothing_earns_nothing(exercise):
    """An answer with the right names and not one statement has 0 points."""
    asked = registry.find(exercise)
    assert earned(run_check(exercise, source(asked), databases=("sqlite",)), asked.points) == 0


@given(st.lists(st.sampled_from([HOLDS, BROKEN, NOT_EXERCISED]), min_size=1, max_size=4), st.integers(0, 20))
def test_points_are_never_out_of_bounds(verdicts, most):
    """0 <= points <= most, and all of them exactly when everything holds."""
    points = earned(report(*verdicts), most)
    assert 0 <= points <= most
    assert (points == most) == (set(verdicts) == {HOLDS} or most == 0)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (CheckReport("retry", NOT_ATTEMPTED, message="still the stub"), "not_attempted"),
        (CheckReport("retry", UNUSABLE, message="does not parse"), "error"),
        (CheckReport("retry", HOLDS, judged(HOLDS)), "passed"),
        (CheckReport("retry", BROKEN, judged(BROKEN)), "failed"),
        (CheckReport("retry", NOT_EXERCISED, judged(NOT_EXERCISED)), "failed"),
        (CheckReport("retry", BROKEN, [Judged("ends", BROKEN, "silent", diagnosis="never ends")]), "timeout"),
        (CheckReport("retry", NOT_EXERCISED, [Judged("one", NOT_EXERCISED, "cut", diagnosis=TOO_SLOW)]), "timeout"),
    ],
)
def test_states(found, state):
    """Each verdict is one state of the gradebook."""
    assert state_of(found) == state


def test_tampering_costs_all_points():
    """Whoever reached for the judge has nothing, whatever the report says."""
    entry = Entry("retry", 8)
    entry.settle(report(HOLDS), "the answer wrote on the judge's pipe")
    assert (entry.state, entry.points, entry.reason) == ("tampered", 0.0, "the answer wrote on the judge's pipe")


def test_reason_says_what_broke_first():
    """A learner reads in one line how much holds and what broke."""
    assert settled(HOLDS, BROKEN).reason == "2 properties hold, 1 is broken; two: two was seen to fail"


def test_a_row_survives_being_written_down():
    """What an earlier grader left is the same row again, flags and report included."""
    row = Row("ann", {"retry": settled(HOLDS, BROKEN)}, [Flag("magics", "a line with % was taken out")])
    row.entries["retry"].flags.append(Flag("copied", "two cells hold the answer"))
    assert Row.from_data(json.loads(json.dumps(row.to_data()))) == row
