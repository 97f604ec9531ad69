"""The listings of the lesson on deadlines: the broken ones still break as the lesson says, the right ones do not."""

import pytest

from labkit.faults import run_once
from labkit.lessons import deadlines
from labkit.lessons.clocks import clocks
from labkit.lessons.deadlines import crashes, ends_after, run, stepped
from labkit.lessons.states import one_crash

BACK, FORWARD = "p1@http2.after+clock_step(-600)", "p1@http2.after+clock_step(600)"


def test_without_a_deadline_a_silent_model_hangs_the_run():
    """The run hangs, and on the next morning the task is still where it was."""
    trace = run_once(deadlines.no_deadline, "p1@http3.before+hang")
    assert trace.broken == "p1 hangs, and the user hears nothing"
    assert trace.lines[-1].time > 16 * 3600


@pytest.mark.parametrize("restarts", [0, 1, 2, 3])
def test_a_deadline_reset_on_restart_grows_with_each_crash(restarts):
    """Each crash at minute four adds four minutes to the five."""
    trace = run_once(run(deadlines.reset_on_restart), crashes(restarts))
    assert ends_after(trace) == 300 + 240 * restarts
    assert (trace.broken is None) == (restarts == 0)


@pytest.mark.parametrize("restarts", [0, 1, 2, 3])
def test_a_stored_deadline_does_not_move(restarts):
    """However often the process is restarted, the run ends after five minutes."""
    trace = run_once(run(deadlines.in_time), crashes(restarts))
    assert (ends_after(trace), trace.broken) == (300, None)


def test_crash_anywhere_moves_only_the_reset_deadline():
    """One crash at each place: in the right version none moves the end."""
    assert "broken" in {verdict for _, verdict, _ in one_crash(run(deadlines.reset_on_restart))}
    assert {verdict for _, verdict, _ in one_crash(run(deadlines.in_time))} == {"holds"}


@pytest.mark.parametrize(
    ("schedule", "why"), [(BACK, "the user heard after 8 min"), (FORWARD, "given up with 3 min left")]
)
def test_a_run_by_the_wall_clock_follows_whoever_sets_it(schedule, why):
    """Set back, the run is late; set forward, it gives up too soon; measured, it does neither."""
    assert run_once(run(deadlines.by_the_wall_clock), schedule).broken == why
    assert run_once(run(deadlines.in_time), schedule).broken is None


def test_stepped_tries_every_question_both_ways():
    """The measured version holds at every step, the other breaks at some."""
    right, wrong = stepped(deadlines.in_time), stepped(deadlines.by_the_wall_clock)
    assert {verdict for _, verdict, _ in right} == {"holds"}
    assert "broken" in {verdict for _, verdict, _ in wrong}
    assert len(right) == len(wrong) == 10


def test_a_clock_set_before_the_process_looks_is_not_noticed():
    """The limit that the lesson admits: the wall clock is read once."""
    assert run_once(run(deadlines.in_time), "p1@1.before+clock_step(-600)").broken is not None


def test_a_step_that_keeps_its_whole_limit_ends_late():
    """Without handing down what is left, the last step ends after the deadline."""
    late, right = run_once(run(deadlines.whole_limit_for_each_step)), run_once(run(deadlines.hands_down))
    assert (ends_after(late), ends_after(right)) == (330, 300)
    assert late.broken is not None
    assert right.broken is None


def test_who_waits_for_the_deadline_takes_over_too_late():
    """With the deadline as lease nobody answers, with a lease somebody does."""
    late, right = (run_once(s, "p1@http1.after+crash") for s in (deadlines.deadline_as_lease, deadlines.lease))
    assert late.broken is not None
    assert (ends_after(right), right.broken) == (270, None)


def test_two_clocks_are_drawn_from_the_trace():
    """The picture knows how far the wall clock was set, and what it says afterwards."""
    drawn = clocks(run_once(run(deadlines.in_time), BACK), {"deadline": 300.0})
    assert drawn.steps == ((120.0, -600.0),)
    assert (drawn.wall(60), drawn.wall(120)) == ("17:01", "16:52")
    assert "set by \N{MINUS SIGN}10 min" in drawn._repr_html_()
    assert "wall clock  17:00   17:01   16:52" in repr(drawn)


def test_equal_traces_give_equal_pictures():
    """Two runs of one schedule are drawn in the same bytes, and what a process says is escaped."""
    one, two = (clocks(run_once(run(deadlines.by_the_wall_clock), BACK)) for _ in range(2))
    assert one._repr_html_() == two._repr_html_()
    assert "<b>" not in clocks(run_once(run(deadlines.in_time)), title="<b>")._repr_html_()


def test_a_step_that_ends_on_the_dot_is_in_time():
    """One second later it is not, and its result does not count."""
    assert deadlines.on_the_dot(120) == "in time: ['60 s', '120 s', '120 s']"
    assert deadlines.on_the_dot(121) == "too late; done by then: ['60 s', '120 s']"
