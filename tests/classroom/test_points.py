"""Points follow from verdicts alone, half of them from what the exercise is about, and a page shows their sum."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labkit.checks import registry
from labkit.checks.judge import BROKEN, FOLLOWS, HOLDS, NOT_EXERCISED, CheckReport, Judged, overall
from labkit.checks.run import run_check
from labkit.classroom.gradebook import Entry
from labkit.classroom.points import FREE, earned, shares
from tests.classroom.books import report, settled
from tests.classroom.idle import source

VERDICTS = st.sampled_from([HOLDS, BROKEN, NOT_EXERCISED])


def of(exercise, but=(), verdict=BROKEN):
    """A report of this exercise in which all holds but these."""
    properties = [Judged(one.name, verdict if one.name in but else HOLDS, "seen") for one in registry.find(exercise).properties]
    return CheckReport(exercise, BROKEN if but else HOLDS, properties)


@pytest.mark.parametrize(
    ("verdicts", "points"),
    [
        ((HOLDS, HOLDS), 8),
        ((BROKEN, HOLDS), 4),
        ((BROKEN, HOLDS, HOLDS), 5.33),
        ((BROKEN, NOT_EXERCISED), 0),
        ((BROKEN, BROKEN), 0),
        ((HOLDS, NOT_EXERCISED), 4),
        ((NOT_EXERCISED, NOT_EXERCISED), 0),
    ],
)
def test_points(verdicts, points):
    """Where nothing is essential: all for what holds, equal shares for what is broken elsewhere, nothing for what shows nothing or only ends."""
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


@pytest.mark.parametrize("exercise", registry.IDS)
def test_what_is_essential_is_there(exercise):
    """Each exercise but the smallest says what it is about, by the names of some of its properties, and `ends` is none of these."""
    asked = registry.find(exercise)
    others = {one.name for one in asked.properties} - {*asked.essential, FREE}
    assert len(set(asked.essential) & {one.name for one in asked.properties}) == len(asked.essential)
    assert FREE not in asked.essential
    assert others
    assert asked.essential or len(asked.properties) == 2


def test_whoever_misses_the_point_misses_half():
    """All essential properties broken: no more than half of the points, however much else holds."""
    essential = registry.find("idempotency").essential
    assert earned(of("idempotency", essential), 10) == 5
    assert earned(of("idempotency", essential[:1]), 10) == 9
    assert earned(of("idempotency", ["unknown id"]), 10) == 9.58


def test_untested_earns_as_little_as_broken():
    """What was not tested has shown nothing."""
    both = {*registry.find("idempotency").essential[:2]}
    report = of("idempotency", both)
    report.properties = [Judged(one.name, NOT_EXERCISED) if one.name == min(both) else one for one in report.properties]
    assert earned(report, 10) == earned(of("idempotency", both), 10)


def test_what_follows_from_another_is_not_counted():
    """A property that cannot be told while another one is broken costs nothing more, and earns nothing."""
    report = of("sse", ["every update"])
    before = earned(report, 15)
    report.properties = [replace(one, verdict=NOT_EXERCISED, message=f"{FOLLOWS}: every update") if one.name == "goes on" else one for one in report.properties]
    told = shares(report, 15)[0]
    assert (told.properties, told.held) == (("every update", "closes"), ("closes",))
    assert earned(report, 15) == before - 7.5 * (2 / 3 - 1 / 2)


@given(st.data(), st.sampled_from(registry.IDS), st.integers(1, 40))
def test_what_is_told_adds_up(data, exercise, most):
    """The shares of a broken answer have all the points between them, name each property but `ends` once, and what they earn is what is given."""
    properties = [Judged(one.name, data.draw(VERDICTS)) for one in registry.find(exercise).properties]
    found = CheckReport(exercise, overall(properties), properties)
    assume(found.verdict != HOLDS)
    entry = Entry(exercise, most)
    entry.settle(found)
    told = shares(found, most)
    assert round(sum(share.points for share in told), 2) == entry.points < most == sum(share.most for share in told)
    free = {one.name for one in properties if (one.name, one.verdict) == (FREE, HOLDS)}
    assert sorted(name for share in told for name in share.properties) == sorted({one.name for one in properties} - free)
    assert entry.shares == told


def test_nothing_to_work_out():
    """Who has all points, or none because of how the answer behaves, sees no sum."""
    entry = Entry("retry", 8)
    entry.settle(of("retry", ["counts attempts"]), "the answer wrote on the judge's pipe")
    assert entry.shares == settled(HOLDS).shares == Entry("retry", 8).shares == []
