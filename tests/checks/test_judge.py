"""The judge: plain data in, verdict out."""

import pytest

from labkit.checks import registry
from labkit.checks.exercise import Case, Exercise, Finding, Property, Seen
from labkit.checks.judge import (
    BROKEN,
    HOLDS,
    LEFT_OUT,
    NOT_EXERCISED,
    NOT_FAR_ENOUGH,
    UNHEARD_OF,
    CheckReport,
    Covered,
    Judged,
    Jury,
    overall,
)
from labkit.faults.process import Outcome
from labkit.faults.scenario import End


def end(value=None, token="x.a/memory:none", how="returned"):
    return End(token, (Outcome("p1", how, value),))


def finds(*bad):
    return lambda seen, facts: Finding(f"saw {seen.end.last.value}", "bad") if seen.end.last.value in bad else None


def exercise(*properties):
    cases = (Case("a", lambda answer: [], facts={"wanted": 1}), Case("b", lambda answer: []))
    return Exercise("x", "t", 11, "C", 1, 1, 1, {}, cases, properties, ())


def test_property_that_nothing_breaks_holds():
    """A property that was put to the test and not broken holds, and carries its claim."""
    jury = Jury(exercise(Property("p", "says", finds())))
    jury.hear(Seen("a", "end", end()))
    assert [Judged("p", HOLDS, claim="says")] == jury.verdicts()
    assert (HOLDS, False, 1) == (overall(jury.verdicts()), jury.broken, jury.heard)


def test_silence_is_not_success():
    """A property that no run put to the test is not exercised, and neither is the whole."""
    jury = Jury(exercise(Property("p", "", finds()), Property("q", "", finds(), ("b",))))
    jury.hear(Seen("a", "end", end()))
    assert [HOLDS, NOT_EXERCISED] == [one.verdict for one in jury.verdicts()]
    assert NOT_EXERCISED == overall(jury.verdicts()) == overall([])


@pytest.mark.parametrize(("value", "why"), [(1, LEFT_OUT), (2, NOT_FAR_ENOUGH)])
def test_what_was_not_run_is_not_blamed_on_the_answer(value, why):
    """Where something broke before any case of a property was run, it says so; where nothing broke, no run came far enough."""
    jury = Jury(exercise(Property("p", "", finds(1), ("a",)), Property("q", "", finds(), ("b",))))
    jury.hear(Seen("a", "end", end(value)))
    assert (NOT_EXERCISED, why) == (jury.verdicts()[1].verdict, jury.verdicts()[1].message)


def test_kind_of_run_exercises():
    """By default only a run that came to its end exercises a property."""
    jury = Jury(exercise(Property("p", "", finds())))
    jury.hear(Seen("a", "left", end()))
    assert NOT_EXERCISED == overall(jury.verdicts())


def test_broken_beats_everything():
    """One broken property makes the whole broken."""
    assert BROKEN == overall([Judged("p", HOLDS), Judged("q", BROKEN), Judged("r", NOT_EXERCISED)])


def test_what_follows_from_another_is_not_told():
    """What is found says nothing where a property that explains it is broken too; alone it is told."""
    told = [("p", BROKEN, "bad"), ("q", NOT_EXERCISED, "")], [("p", HOLDS, ""), ("q", BROKEN, "bad")]
    for value, expected in zip((1, 2), told, strict=True):
        jury = Jury(exercise(Property("p", "", finds(1)), Property("q", "", finds(1, 2), unless=("p",))))
        jury.hear(Seen("a", "end", end(value)))
        assert expected == [(one.name, one.verdict, one.diagnosis) for one in jury.verdicts()]


def test_simplest_run_is_kept():
    """Of all runs that break a property the one with the fewest faults is kept, then the fewest turns, then the shortest."""
    tokens = [
        "x.a/sqlite:p1@7.after+crash,p2@1.before+crash",
        "x.a/sqlite:p1@7.after+crash",
        "x.a/sqlite:none;order=1x4.2x9",
        "x.a/sqlite:none;order=1x4",
    ]
    jury = Jury(exercise(Property("p", "", finds(1))))
    for token in [*tokens, tokens[0]]:
        jury.hear(Seen("a", "end", end(1, token)))
    assert [tokens[-1]] == [one.token for one in jury.verdicts()]


def test_long_name_is_not_less_simple():
    """The name of a case does not count: the first of equals is kept."""
    jury = Jury(exercise(Property("p", "", finds(1))))
    for token in ("x.a_long_name/sqlite:none", "x.a/sqlite:none"):
        jury.hear(Seen("a", "end", end(1, token)))
    assert "x.a_long_name/sqlite:none" == jury.verdicts()[0].token


def test_run_that_no_property_thought_of():
    """A world that a property cannot read breaks it, without a traceback."""
    jury = Jury(exercise(Property("p", "", lambda seen, facts: seen.end.tasks["gone"])))
    jury.hear(Seen("a", "end", end()))
    assert [(BROKEN, UNHEARD_OF)] == [(one.verdict, one.diagnosis) for one in jury.verdicts()]


ENDS = Property("ends", "every call ends", finds())


@pytest.mark.parametrize(
    ("tell", "diagnosis"),
    [
        (Jury.stuck, "never ends"),
        (lambda jury, case: jury.broke_off(case, "status 1"), "breaks the process it runs in"),
    ],
)
def test_stuck_and_broken_off(tell, diagnosis):
    """An answer that never ends or that ends its process breaks the property `ends`."""
    jury = Jury(exercise(ENDS))
    tell(jury, "a")
    assert [("ends", BROKEN, diagnosis)] == [(one.name, one.verdict, one.diagnosis) for one in jury.verdicts()]


def test_every_exercise_asks_for_an_end():
    """Each exercise has the property `ends`, so that what never ends has a place in the report."""
    assert [] == [asked.id for asked in registry.every() if "ends" not in [prop.name for prop in asked.properties]]


def test_message_is_one_line():
    """A message is one line, however long the error was that it tells of."""
    jury = Jury(exercise(Property("p", "", lambda seen, facts: Finding("one\ntwo" + "x" * 1000, "bad"))))
    jury.hear(Seen("a", "end", end()))
    assert "one" == jury.verdicts()[0].message


def test_certificate():
    """The certificate says what was tried, whether all of it, where, and how much broke."""
    covered = Covered()
    covered.add({"crash_points": 58, "states": 4, "runs": 80, "capped": ""})
    covered.add({"orders": 20, "runs": 20, "preemptions": 1, "closed": True})
    tried = "20 orders within 1 preemption; 100 schedules; sqlite; none broken"
    assert f"58 crash points x 4 distinct states, closed; {tried}" == covered.line(["sqlite"], 0)
    for why in ("600 runs", "8 crashes in a row", "600 runs"):
        covered.add({"capped": why})
    covered.add({"closed": False, "preemptions": 2})
    assert (
        "58 crash points x 4 distinct states, capped at 600 runs and 8 crashes in a row; "
        "the first 20 orders within up to 2 preemptions; 100 schedules; 2 broken" == covered.line([], 2)
    )


def test_certificate_counts_in_words():
    """One is one, none is left out, and a sweep that was capped before its first crash says so."""
    covered = Covered()
    covered.add({"crash_points": 1, "states": 1, "kills": 1, "orders": 1, "runs": 1, "preemptions": 0})
    assert (
        "1 crash point x 1 distinct state, closed; 1 real kill; 1 order within 0 preemptions; 1 schedule; none broken"
        == covered.line([], 0)
    )
    covered = Covered()
    covered.add({"runs": 1, "capped": "a run without end"})
    assert "capped at a run without end; 1 schedule; 1 broken" == covered.line([], 1)


def test_first_broken():
    """What a learner is shown first is the first property that is broken."""
    report = CheckReport("x", BROKEN, [Judged("p", HOLDS), Judged("q", BROKEN), Judged("r", BROKEN)])
    assert "q" == report.first_broken.name
    assert CheckReport("x", HOLDS).first_broken is None
