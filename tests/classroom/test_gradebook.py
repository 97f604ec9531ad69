"""The ledger: every exercise is there, 0 with a reason until something is known, and points follow from verdicts alone."""

import json

import pytest

from labkit.checks import registry
from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, TOO_SLOW, UNUSABLE, CheckReport, Judged
from labkit.classroom import assignments
from labkit.classroom.gradebook import NOTHING_CAME, Entry, Row, expected, state_of
from labkit.classroom.submission import Flag
from tests.checkout import ROOT
from tests.classroom.books import judged, report, settled


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
