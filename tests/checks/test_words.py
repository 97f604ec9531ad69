"""A report in words: a verdict as one says it, nothing said twice, nothing left out unsaid."""

import pytest

from labkit.checks import words
from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, CheckReport, Judged, overall
from labkit.checks.page import page


def test_verdicts_are_words():
    """`not_attempted` is for machines."""
    assert "retry: not attempted - f is still the stub" == words.headline(
        CheckReport("retry", NOT_ATTEMPTED, message="f is still the stub")
    )
    assert words.headline(CheckReport("retry", NOT_EXERCISED)).startswith("retry: not exercised - ")


@pytest.mark.parametrize(
    ("held", "broken", "asleep", "said"),
    [
        (8, 0, 0, "8 of 8 properties hold"),
        (1, 1, 6, "1 property holds, 1 is broken, 6 were not tested"),
        (5, 2, 1, "5 properties hold, 2 are broken, 1 was not tested"),
        (0, 1, 0, "1 property is broken"),
        (0, 0, 3, "3 properties were not tested"),
    ],
)
def test_what_was_not_tested_is_not_broken(held, broken, asleep, said):
    """The headline counts what holds, what is broken and what was not tested, the same on the command line and on a page."""
    judged = [Judged(verdict, verdict) for verdict, times in ((HOLDS, held), (BROKEN, broken), (NOT_EXERCISED, asleep)) for _ in range(times)]
    report = CheckReport("retry", overall(judged), judged)
    headline = f"retry: {words.in_words(report.verdict)} - {said}"
    assert headline == words.headline(report) == words.whole(report).splitlines()[0]
    assert f" {headline}</div>" in page(report)


def test_printed_lines_that_are_cut_are_counted():
    """Of what the answer printed the first lines are shown, and how many there are besides."""
    lines = [str(number) for number in range(words.MOST_PRINTED + 1)]
    assert lines[:-1] == words.printed(CheckReport("x", BROKEN, output="\n".join(lines[:-1])))
    assert [*lines[:-1], "... (and 1 more line)"] == words.printed(CheckReport("x", BROKEN, output="\n".join(lines)))


def test_likely_cause_says_something_new():
    """A diagnosis that the message has said already is no likely cause."""
    assert "likely cause" not in words.of_property(Judged("ends", BROKEN, "it never ends", "", "never ends"))
    assert "likely cause: no fence" in words.of_property(Judged("fences", BROKEN, "it wrote", "", "no fence"))


def test_what_the_verdict_leaves_out_stands_below_it():
    """What could not be exercised is the second line, in a report of any length."""
    report = CheckReport("x", HOLDS, [Judged("a", HOLDS, claim="b")], "1 schedule", message="not exercised on postgres: no server")
    assert ["  not exercised on postgres: no server"] == words.whole(report).splitlines()[1:2]


def test_the_way_to_a_hint_is_that_of_the_place():
    """On the command line it is a command; a notebook names its own."""
    report = CheckReport("retry", NOT_ATTEMPTED)
    assert words.whole(report).endswith("stuck? labkit hint retry")
    assert words.whole(report, stuck='hint("retry")').endswith('stuck? hint("retry")')


@pytest.mark.parametrize("many", [False, True])
def test_others_go_with_it_only_where_there_are_others(many):
    """Where one property alone is broken nobody is told that others go with it, on a page and in words."""
    broken = [Judged(name, BROKEN, "no") for name in ("a", "b")[: 1 + many]]
    report = CheckReport("retry", BROKEN, [*broken, Judged("c", HOLDS), Judged("d", NOT_EXERCISED)])
    assert [many, many] == ["others often go with it" in told for told in (words.whole(report), page(report))]
    assert "mend the " in words.whole(report)
    assert "Changed the answer?" in page(report)
