"""The report on a page: what broke stands first with its picture, everything is escaped, and the learner hears what to do next."""

from xml.etree import ElementTree

import pytest

from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, UNUSABLE, CheckReport, Judged
from labkit.checks.page import note, page

HELD = Judged("ends", HOLDS, claim="every call ends")
WORSE = Judged("late & lost", BROKEN, "it never came", "", "nobody waits")
BAD = Judged(
    "effect <once>", BROKEN, "it happened 2 times & more", "retry.fresh/memory:p1@1.after+crash", "no <key>", "once"
)
ASLEEP = Judged("crash rule", NOT_EXERCISED, "no run came far enough to test this")


def report(verdict, *properties, **more):
    return CheckReport("retry", verdict, list(properties), **more)


def words(markup):
    """The text of a page; that it can be parsed at all shows that nothing was left unescaped."""
    root = ElementTree.fromstring(markup)
    return " ".join("".join(part.itertext()) if part.tag != "style" else "" for part in root)


def test_broken_comes_first_with_its_picture():
    """Broken before not exercised before holding, whatever the order of the properties; the picture is inside the first broken one."""
    said = words(page(report(BROKEN, HELD, ASLEEP, BAD, WORSE), "<p>drawn</p>"))
    order = [
        "effect <once>",
        "drawn",
        "Mend this one",
        "1 more broken",
        "never came",
        "crash rule",
        "1 hold already",
        "every call ends",
    ]
    places = [said.index(word) for word in order]
    assert sorted(places) == places


def test_everything_that_helps_is_there():
    """Claim, message, cause, token, hint: all of them, escaped."""
    said = words(page(report(BROKEN, BAD, certificate="3 crash points x 2 distinct states, closed", output="<hello>")))
    for word in (
        "asked: once",
        "2 times & more",
        "likely cause: no <key>",
        "labkit replay",
        'hint("retry", 1)',
        "<hello>",
        "3 crash points",
    ):
        assert word in said


def test_what_holds_is_not_folded_and_asks_for_nothing():
    """A report that holds lists what holds and sends nobody to the hints."""
    markup = page(report(HOLDS, HELD))
    assert "<details>" not in markup
    assert "hint(" not in markup


@pytest.mark.parametrize("verdict", [NOT_ATTEMPTED, UNUSABLE])
def test_no_verdict_is_one_line_and_what_to_do(verdict):
    """Where nothing was judged, the reason and the next step stand there alone."""
    said = words(page(report(verdict, message="the answer <does> not parse")))
    assert "the answer <does> not parse" in said
    assert "un its cell, then this one" in said
    assert verdict.replace("_", " ") in said
    assert "0 hold" not in said


def test_equal_reports_give_equal_pages():
    """The same report gives the same bytes; backticks become code, and a note is escaped too."""
    assert "<code>&lt;b&gt;</code>" in page(report(BROKEN, Judged("one", BROKEN, "it says `<b>`")))
    assert page(report(BROKEN, BAD, HELD)) == page(report(BROKEN, BAD, HELD))
    assert "&lt;i&gt;" in note("<i>")


def test_what_is_missing_stands_below_the_verdict():
    """What could not be exercised comes before the properties, why a pass is not remembered behind them."""
    said = words(page(report(HOLDS, HELD, message="not exercised on postgres: <why>", unrecorded="not recorded: <why>")))
    places = [said.index(part) for part in ("holds", "not exercised on postgres: <why>", "every call ends", "not recorded: <why>")]
    assert sorted(places) == places
