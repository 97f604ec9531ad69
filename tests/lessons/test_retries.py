"""The broken listings of the lesson on retries break, the repaired ones hold."""

import random

import pytest

from labkit.clock import VirtualClock
from labkit.errors import RetriesExhausted, TerminalError
from labkit.faults import run_once, sweep
from labkit.lessons import retries as lesson
from labkit.retry import RetryPolicy


def ended(trace):
    return next(line.text for line in trace.lines if line.kind == "end")


def test_no_retry_is_ended_by_one_503():
    """One refusal after eight minutes, and there is no container."""
    trace = run_once(lesson.one_503, lesson.refused(1))
    assert ("0 containers, not 1", 480.0) == (trace.broken, trace.lines[-1].time)


def test_a_retry_of_every_error_asks_five_times_for_what_is_not_there():
    """Five calls and 15 seconds for a terminal error; one call where errors are told apart."""
    everything = run_once(lesson.every_error, lesson.refused(5, "TerminalError"))
    told_apart = run_once(lesson.told_apart, lesson.refused(5, "TerminalError"))
    assert (5, 15.0) == (lesson.calls(everything), everything.lines[-1].time)
    assert (1, 0.0) == (lesson.calls(told_apart), told_apart.lines[-1].time)
    assert ended(everything).startswith("raised RetriesExhausted")
    assert ended(told_apart).startswith("raised TerminalError")


def test_both_get_over_a_bad_moment():
    """Four transient refusals end in success for either."""
    for scenario in (lesson.every_error, lesson.told_apart):
        assert ended(run_once(scenario, lesson.refused(4))).startswith("returned")


def test_the_listing_waits_only_between_attempts():
    """Five attempts have four waits, and none is a ValueError."""
    clock = VirtualClock()

    def refuse():
        raise TerminalError

    with pytest.raises(RetriesExhausted):
        lesson.retry_everything(refuse, 5, clock)
    assert 15.0 == clock.elapsed
    with pytest.raises(ValueError):
        lesson.retry_everything(refuse, 0, clock)


def test_a_retry_after_a_lost_answer_pays_twice():
    """A timeout after the effect is the one place that doubles it, and no crash is needed."""
    report = sweep(lesson.payment, faults=("timeout", "error"))
    assert ["exactly one charge"] == [found.invariant for found in report.broken]
    assert "p1@1.after+timeout" in report.broken[0].token


def test_a_key_makes_the_retry_harmless():
    """The same faults and every crash, closed."""
    report = sweep(lesson.payment_with_key, faults=("timeout", "error", "crash"))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_the_caller_cannot_tell_a_lost_request_from_a_lost_answer():
    """Same error, other payments."""
    refused, request, answer = lesson.what_was_seen().rows
    assert request[1:3] == answer[1:3] != refused[1:3]
    assert ["1", "1", "2"] == [row[3].text for row in (refused, request, answer)]
    assert ["1", "1", "1"] == [row[3].text for row in lesson.what_was_seen(lesson.payment_with_key).rows]


def test_in_step_they_come_back_in_step():
    """Without jitter all return at the same five instants, and most give up; with it most are served."""
    in_step = lesson.stampede(lambda attempt: 2.0**attempt)
    spread = lesson.stampede(RetryPolicy(rng=random.Random(7)).delay)
    assert [1.0, 3.0, 7.0, 15.0, 31.0] == sorted(set(in_step.returns))
    assert len(spread.returns) == len(set(spread.returns))
    assert in_step.served < 100 < spread.served
    assert 200 == in_step.served + in_step.gave_up == spread.served + spread.gave_up


def test_nobody_is_served_while_it_is_down_or_full():
    """A server that stays down serves none, one with room serves all."""
    assert 0 == lesson.stampede(lambda attempt: 1.0, down=100).served
    assert 200 == lesson.stampede(lambda attempt: 1.0, down=0, per_second=200).served
