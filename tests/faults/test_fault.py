"""Faults: what each is in text, where it can sit, and what a caller sees of it."""

from __future__ import annotations

import sqlite3

import httpx
import psycopg
import pytest

from labkit.clock import VirtualClock
from labkit.errors import CallTimeout, TransientError, UsageError
from labkit.faults import Crash, Fault, Injection
from labkit.faults.fault import ANSWERS, BOUNDARIES, KINDS, ONLY_AT, RAISES, SIDES, fits
from labkit.faults.gate import Alone, Gate

NUMBER = {"torn": 3.0, "late": 30.0, "delay": 30.0, "pause": 30.0, "clock_step": 30.0, "rate_limited": 30.0}
CALL = "POST /v1/chat/completions"  # a call that every fault of its boundary can strike
# driver -> (what an error is, what a time-out is)
ERRORS: dict[str, tuple[type[Exception], type[Exception]]] = {
    "cloud": (TransientError, CallTimeout),
    "http": (httpx.ConnectError, httpx.ReadTimeout),
    "file": (OSError, OSError),
    "sqlite": (sqlite3.OperationalError, sqlite3.OperationalError),
    "postgres": (psycopg.OperationalError, psycopg.OperationalError),
}
# (kind, side) -> (what the caller sees, how often the act was done by then, how often in the end); "error" and "timeout" by boundary
SEEN = {
    ("crash", "before"): (Crash, 0, 0),
    ("crash", "after"): (Crash, 1, 1),
    ("interrupt", "before"): (KeyboardInterrupt, 0, 0),
    ("interrupt", "after"): (KeyboardInterrupt, 1, 1),
    ("error", "before"): ("error", 0, 0),
    ("timeout", "before"): ("timeout", 0, 0),
    ("timeout", "after"): ("timeout", 1, 1),
    ("late", "before"): ("timeout", 0, 1),
    ("hang", "before"): (Crash, 0, 0),
    ("duplicate", "before"): (None, 2, 2),
    ("delay", "before"): (None, 1, 1),
    ("delay", "after"): (None, 1, 1),
    ("pause", "before"): (None, 1, 1),
    ("pause", "after"): (None, 1, 1),
    ("torn", "before"): (Crash, 0, 0),
    ("clock_step", "before"): (None, 1, 1),
    ("clock_step", "after"): (None, 1, 1),
    ("rate_limited", "before"): (None, 0, 0),
    ("server_error", "before"): (None, 0, 0),
    ("malformed_arguments", "before"): (None, 1, 1),
    ("unknown_tool", "before"): (None, 1, 1),
    ("empty", "before"): (None, 1, 1),
    ("cut", "after"): (None, 1, 1),
}
DRIVERS = {"sql": ("sqlite", "postgres")}
ROWS = [
    (kind, side, boundary, driver)
    for kind in KINDS
    for side in SIDES
    for boundary in BOUNDARIES
    for driver in DRIVERS.get(boundary, (boundary,))
    if fits(kind, boundary, side)
]


def make(kind: str) -> Fault:
    return Fault(kind, NUMBER.get(kind))


def test_each_side_of_each_kind_is_in_the_table() -> None:
    """No fault and no side is forgotten by the tests below."""
    assert set(SEEN) == {(kind, side) for kind, (sides, _) in KINDS.items() for side in sides}


@pytest.mark.parametrize(("kind", "side", "boundary", "driver"), ROWS)
def test_what_a_caller_sees(kind: str, side: str, boundary: str, driver: str) -> None:
    """One row of the table: the exception, and whether the act was done."""
    clock, done, later, torn, shaped = VirtualClock(), [], [], [], []
    injection = Injection(1, 1, side, make(kind))
    gate = Gate(
        "p1", [injection], [], clock, Alone(clock), later=lambda seconds, act, label: later.append((seconds, act))
    )
    expected, by_then, in_the_end = SEEN[kind, side]
    if isinstance(expected, str):
        expected = ERRORS[driver][expected == "timeout"]
    seen: BaseException | None = None
    try:
        shape = lambda fault, real, told: shaped.append(told) or str(fault)  # noqa: E731
        answer = gate.cross(boundary, CALL, lambda: done.append(1), driver=driver, torn=torn.append, shape=shape)
    except BaseException as error:
        seen = error
    assert expected == (seen and type(seen))
    assert not isinstance(seen, Exception) or f"{CALL} (call 1, injected)" in str(seen)
    assert shaped == ([f"{CALL} (call 1, injected)"] if kind in ANSWERS else [])
    assert seen is not None or answer == (str(make(kind)) if kind in ANSWERS else None)
    assert by_then == len(done)
    for seconds, act in later:
        assert seconds == 30.0
        act()
    assert in_the_end == len(done)
    assert torn == ([3] if kind == "torn" else [])
    assert gate.struck == [injection]
    assert gate.how == {"crash": "crashed", "torn": "crashed", "hang": "hung"}.get(kind, "")
    assert clock.elapsed == (30.0 if kind in ("delay", "pause") else 0.0)
    assert clock.step == (30.0 if kind == "clock_step" else 0.0)


@pytest.mark.parametrize(("kind", "boundary"), [(k, b) for k in ONLY_AT for b in BOUNDARIES if b not in ONLY_AT[k]])
def test_what_cannot_happen_somewhere_does_not_and_is_told(kind: str, boundary: str) -> None:
    """A fault on a crossing where it makes no sense strikes nothing, and the gate says what stands there."""
    clock, done, side = VirtualClock(), [], KINDS[kind][0][0]
    gate = Gate("p1", [Injection(1, 1, side, make(kind))], [], clock, Alone(clock), later=lambda *_: None)
    gate.cross(boundary, "call x", lambda: done.append(1))
    assert done == [1]
    assert gate.struck == []
    assert [there for _, there in gate.moved] == [f"{boundary} call x"]
    with pytest.raises(UsageError):
        Injection(1, 1, side, make(kind), boundary)


def test_every_boundary_that_can_fail_has_its_errors() -> None:
    """`RAISES` knows an error and a time-out for each driver of each boundary but the clock."""
    assert set(RAISES) == {(driver, kind) for driver in ERRORS for kind in ("error", "timeout")}


def test_a_named_exception_is_raised() -> None:
    """`error(QueueFull)` raises labkit's QueueFull with the name of the call in it."""
    clock = VirtualClock()
    gate = Gate("p1", [Injection.parse("p1@1.before+error(QueueFull)")], [], clock, Alone(clock), later=lambda *_: None)
    with pytest.raises(TransientError, match="refused: call x"):
        gate.cross("cloud", "call x", lambda: None)


@pytest.mark.parametrize(
    "text",
    [
        "", "boom", "crash(1)", "late", "late()", "late(x)", "late(nan)", "late(inf)", "late(-1)", "delay(1e99)",
        "torn(1.5)", "torn(-1)", "error(Nonsense)", "error(Any)", "error(KeyboardInterrupt)", "error(UnicodeDecodeError)",
        "timeout(TimeoutError)", "rate_limited", "rate_limited(-1)", "rate_limited(0.5)", "empty(1)", "cut(4)", "crash crash", "crash\n", "late(\u0663)",
    ],
)  # fmt: skip
def test_what_is_no_fault_is_a_usage_error(text: str) -> None:
    """A text that names no possible fault is refused with a reason."""
    with pytest.raises(UsageError, match=r"."):
        Fault.parse(text)


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), -3.0, 10**400, -(10**400)])
def test_an_impossible_amount_is_a_usage_error(amount: float) -> None:
    """However large it is, and whoever made it."""
    with pytest.raises(UsageError, match="is not possible"):
        Fault("torn", amount)


def test_a_crash_ends_an_event_loop_and_is_no_exception() -> None:
    """Like SystemExit it goes through a loop, and `except Exception` does not catch it."""
    assert issubclass(Crash, SystemExit)
    assert not issubclass(Crash, Exception)
