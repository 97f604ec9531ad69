"""The gate: each call out passes twice, and a dead process passes no more."""

from __future__ import annotations

from typing import NoReturn

import pytest

from labkit.clock import VirtualClock
from labkit.errors import CallTimeout
from labkit.faults import Crash, Injection
from labkit.faults.gate import MOST_CROSSINGS, MOST_SWALLOWED, Alone, Gate


def gate(*places: str, clock: VirtualClock | None = None) -> Gate:
    clock = clock or VirtualClock()
    return Gate("p1", [Injection.parse(place) for place in places], [], clock, Alone(clock), later=lambda *_: None)


def sides(made: Gate) -> list[tuple[int, str, str, str]]:
    return [
        (number, side, label, fault) for kind, _, _, number, side, _, label, fault, _ in made.record if kind == "cross"
    ]


def test_of_two_faults_on_one_crossing_the_second_is_told() -> None:
    """The first call and the first over its boundary are one: one fault strikes, the other is not dropped without a word."""
    clock = VirtualClock()
    one, other = Injection.parse("p1@1.before+timeout"), Injection.parse("p1@cloud1.before+error")
    gate = Gate("p1", [other, one], [], clock, Alone(clock), later=lambda *_: None)
    with pytest.raises(CallTimeout):
        gate.cross("cloud", "call x", lambda: None)
    assert (gate.struck, gate.moved) == ([one], [(other, "p1@1.before+timeout strikes there")])


def test_a_call_is_recorded_on_both_sides() -> None:
    """Before the act, after it, and the answer comes through."""
    made = gate()
    assert made.cross("cloud", "deploy", lambda: "ready") == "ready"
    assert [(1, "before", "deploy", ""), (1, "after", "deploy", "")] == sides(made)


def test_an_act_that_fails_by_itself_has_no_after() -> None:
    """A real error goes through as it is; only what happened has an after."""
    made = gate()
    with pytest.raises(ZeroDivisionError):
        made.cross("cloud", "deploy", lambda: 1 // 0)
    assert [(1, "before", "deploy", "")] == sides(made)


def test_calls_are_counted_together_and_by_boundary() -> None:
    """`p1@cloud2` is the second call over that boundary, whatever stands between."""
    made = gate("p1@cloud2.before+crash")
    made.cross("cloud", "a", lambda: None)
    made.cross("sql", "b", lambda: None)
    with pytest.raises(Crash):
        made.cross("cloud", "c", lambda: None)
    assert (3, "before", "c", "crash") == sides(made)[-1]


def test_after_death_nothing_gets_out() -> None:
    """Each further crossing raises again, does nothing and leaves no line."""
    made, done = gate("p1@1.after+crash"), []
    for _ in range(3):
        with pytest.raises(Crash):
            made.cross("cloud", "deploy", lambda: done.append(1))
    assert done == [1]
    assert len(sides(made)) == 2
    assert made.how == "crashed"


def test_what_the_process_held_is_closed_once_newest_first() -> None:
    """Death closes in the reverse order of opening, as an operating system does."""
    made, closed = gate("p1@1.before+crash"), []
    made.at_death += [lambda: closed.append("first"), lambda: closed.append("second")]
    with pytest.raises(Crash):
        made.cross("cloud", "deploy", lambda: None)
    made.close()
    assert closed == ["second", "first"]


def test_a_process_that_never_listens_is_taken_off_the_stage() -> None:
    """After some swallowed deaths the stage is asked to keep the code from going on, and it still counts as crashed."""
    left: list[str] = []

    class Stage(Alone):
        def leave(self, how: str) -> NoReturn:
            left.append(how)
            raise Crash(how)

    clock = VirtualClock()
    made = Gate("p1", [Injection.parse("p1@1.before+crash")], [], clock, Stage(clock), later=lambda *_: None)
    for _ in range(MOST_SWALLOWED + 2):
        with pytest.raises(Crash):
            made.cross("cloud", "deploy", lambda: None)
    assert left == ["crashed"]


def test_a_process_that_never_ends_is_stopped() -> None:
    """More crossings than anybody needs are an endless process."""
    made = gate()
    for _ in range(MOST_CROSSINGS):
        made.cross("clock", "sleep 1", lambda: None)
    with pytest.raises(Crash):
        made.cross("clock", "sleep 1", lambda: None)
    assert made.how == "endless"


def test_another_call_than_the_schedule_knew_is_told() -> None:
    """The fault strikes all the same, and the gate says what stands there now."""
    made = gate("p1@1.after+crash~000")
    with pytest.raises(Crash):
        made.cross("cloud", "deploy", lambda: None)
    assert [(str(injection), there) for injection, there in made.moved] == [("p1@1.after+crash~000", "cloud deploy")]
    assert len(made.struck) == 1
