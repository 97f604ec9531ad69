"""Each way to deploy breaks under exactly the troubles that its docstring names, with the invariant and the place that the lesson shows."""

import pytest

from labkit.faults import interleave, replay, run_once, sweep
from labkit.lessons import task_state as lesson
from labkit.lessons.story import containers

BREAKS = {  # way -> troubles under which it breaks, and why
    "no_check": {"clicked_twice": "2 containers, not 1", "crashed": "2 containers, not 1", "at_once": "2 containers, not 1"},
    "checked": {"crashed": "2 containers, not 1", "at_once": "2 containers, not 1", "cancelled": "told cancelled, and it is completed"},
    "refuses_running": {"crashed": "running for ever"},
    "with_key": {"cancelled": "told cancelled, and it is completed"},
    "with_key_and_version": {},
}
TROUBLES = ["clicked_twice", "crashed", "at_once", "cancelled"]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("way", BREAKS)
def test_ways_break_where_the_lesson_says(way, trouble):
    """The table of the lesson: this way under this trouble."""
    mark = lesson.tried(getattr(lesson, way), getattr(lesson, trouble))
    why = BREAKS[way].get(trouble)
    no_record = (way, trouble) == ("no_check", "cancelled")
    assert ("not_exercised" if no_record else "broken" if why else "holds") == mark.verdict
    assert (why or ("keeps no record" if no_record else "")) == mark.text


def test_every_way_and_trouble_is_in_the_table():
    """The lesson's table leaves nothing out."""
    assert [getattr(lesson, name) for name in BREAKS] == [way for _, way in lesson.WAYS]
    assert [getattr(lesson, name) for name in TROUBLES] == [trouble for _, trouble in lesson.TROUBLES]


def test_checked_breaks_first_right_after_the_effect():
    """The smallest counterexample is a crash on the `after` side of the cloud's call, and its token replays it."""
    report = sweep(lesson.crashed(lesson.checked))
    token, verdict, _ = next(row for row in report.strip() if row[1] == "broken")
    trace = replay(lesson.crashed(lesson.checked), token)
    struck = next(line for line in trace.lines if line.fault)
    assert ("broken", "cloud", "after", "crash") == (verdict, struck.boundary, struck.side, struck.fault)
    assert "one_container" == next(line.label for line in trace.lines if line.kind == "broken")


def test_key_is_answered_from_the_ledger():
    """Killed at the same place, the restart gets the first answer again."""
    trace = run_once(lesson.crashed(lesson.with_key), "p1@cloud1.after+crash")
    assert trace.broken is None
    assert 1 == containers(trace)
    assert any(line.text == "key=deploy-shop again" for line in trace.lines)


def test_key_closes():
    """The proof of the lesson covers any number of crashes."""
    report = sweep(lesson.crashed(lesson.with_key))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_cancel_is_overwritten_only_by_the_blind_save():
    """The race needs one interruption; compare-and-set survives every order within two."""
    assert "cancel_stays" == interleave(lesson.cancelled(lesson.with_key), preemptions=1).broken[0].invariant
    report = interleave(lesson.cancelled(lesson.with_key_and_version))
    assert "holds" == report.verdict, report


def test_torn_write_leaves_a_file_that_is_there_and_not_whole():
    """Stat-then-write is content with half a file."""
    report = sweep(lesson.torn_file, faults=("torn(4)",))
    assert ("file_is_whole", "shop.conf holds 'repl'") == (report.broken[0].invariant, report.broken[0].why)
    assert "p1@1.before+torn(4)" in report.broken[0].token


def test_two_writers_both_write():
    """Both look before either writes."""
    assert "one_writer" == interleave(lesson.two_writers).broken[0].invariant
