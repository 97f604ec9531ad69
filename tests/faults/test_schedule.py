"""Tokens: what is written can be read again, and nothing else can."""

from __future__ import annotations

import string
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.faults import Fault, Injection, Scenario, Schedule, Token
from labkit.faults.fault import BOUNDARIES, KINDS, LONGEST, ONLY_AT, WHOLE
from labkit.faults.schedule import MOST_CALLS, MOST_PROCESSES, fingerprint

STABLE = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    kind = draw(st.sampled_from(sorted(KINDS)))
    if kind == "error":
        return Fault(kind, raises=draw(st.sampled_from(["", "QueueFull", "ValueError", "StoreBusy"])))
    if not KINDS[kind][1]:
        return Fault(kind)
    if kind in WHOLE:
        return Fault(kind, draw(st.integers(0, 10**6)))
    return Fault(kind, draw(st.floats(-LONGEST if kind == "clock_step" else 0, LONGEST) | st.integers(0, 100)))


@st.composite
def injections(draw: st.DrawFn) -> Injection:
    fault = draw(faults())
    return Injection(
        draw(st.integers(1, MOST_PROCESSES)),
        draw(st.integers(1, MOST_CALLS)),
        draw(st.sampled_from(KINDS[fault.kind][0])),
        fault,
        draw(st.sampled_from(("", *ONLY_AT.get(fault.kind, BOUNDARIES)))),
        draw(st.just("") | st.text("0123456789abcdef", min_size=3, max_size=3)),
    )


schedules = st.builds(
    Schedule,
    st.lists(injections(), max_size=4, unique_by=lambda i: (i.process, i.boundary, i.number, i.side)).map(tuple),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, MOST_CALLS)), max_size=4).map(tuple),
)
names = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=20)
tokens = st.builds(Token, names, st.sampled_from(("memory", "sqlite", "postgres")), schedules)


@STABLE
@given(faults())
def test_a_fault_comes_back_from_its_text(fault: Fault) -> None:
    """parse(str(fault)) == fault, for each kind and amount."""
    assert fault == Fault.parse(str(fault))


@STABLE
@given(tokens)
def test_a_token_comes_back_from_its_text(token: Token) -> None:
    """parse(format(s)) == s, over all faults, places and orders."""
    assert token == Token.parse(str(token))
    assert token.schedule == Schedule.parse(str(token.schedule))


@STABLE
@given(st.text() | st.text("p1@7.after+crash~5e1,;order=x/():", max_size=40))
def test_garbage_is_a_usage_error_and_never_another(text: str) -> None:
    """Whatever somebody pastes, the only error is `UsageError`."""
    for parse in (Fault.parse, Injection.parse, Schedule.parse, Token.parse):
        with suppress(UsageError):
            parse(text)


@STABLE
@given(tokens, st.data())
def test_a_damaged_token_is_refused_or_read(token: Token, data: st.DataObject) -> None:
    """One character lost or doubled gives a token or a `UsageError`; what was read can be written and read again."""
    text = str(token)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = data.draw(st.sampled_from([text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:]]))
    with suppress(UsageError):
        read = Token.parse(damaged)
        assert read == Token.parse(str(read))


def test_the_text_of_the_readme() -> None:
    """The examples that the documentation gives are tokens."""
    token = Token.parse("resume.pending/sqlite:p1@7.after+crash~5e1,p2@cloud1.before+error")
    assert ("resume.pending", "sqlite") == (token.scenario, token.database)
    first, second = token.schedule.injections
    assert Injection(1, 7, "after", Fault("crash"), "", "5e1") == first
    assert Injection(2, 1, "before", Fault("error"), "cloud") == second
    assert ((1, 4), (2, 9)) == Token.parse("a/postgres:none;order=1x4.2x9").schedule.order


@pytest.mark.parametrize(
    "text",
    ["", "none", "saga", "saga/sqlite", "saga/sqlite:", "sa ga/sqlite:none", "saga/SQLITE:none", "saga/sqlite:p0@1.after+crash",
     "saga/sqlite:p1@0.after+crash", "saga/sqlite:p1@1.after+hang", "saga/sqlite:p1@1.after+crash~xyz", "saga/sqlite:none;order=0x1",
     "saga/sqlite:p1@1.after+crash,p1@1.after+timeout", "saga/sqlite:p1@sql2.after+crash~5e1,p1@sql2.after+crash",
     "saga/sqlite:p1@1.before+torn(-3.0)", "saga/sqlite:p1@1.before+torn(nan)", "saga/sqlite:p1@1.before+torn(1e400)",
     "saga/sqlite:p1@http1.before+cut", "saga/sqlite:p1@http1.after+empty", "saga/sqlite:p1@cloud1.before+rate_limited(1)",
     "saga/sqlite:p1@disk1.after+crash", "saga/sqlite:p1@sql1.before+torn(3)", "saga/sqlite:p1@1.after+crash,", "saga/sqlite:p1@\u0661.after+crash"],
)  # fmt: skip
def test_what_is_no_token_is_refused(text: str) -> None:
    """Each refusal says what a right one looks like or what is wrong."""
    with pytest.raises(UsageError, match=r"."):
        Token.parse(text)


def test_a_name_that_no_token_can_hold_is_refused_at_once() -> None:
    """A scenario must be replayable, so its name must fit into a token."""
    with pytest.raises(UsageError, match="name of a scenario"):
        Scenario("my saga", lambda process: None)
    with pytest.raises(UsageError):
        Token("my/saga", "sqlite", Schedule())


def test_a_fingerprint_does_not_hang_on_random_ids() -> None:
    """The same call with another random id in it is the same call."""
    one = fingerprint("cloud", "charge 7b1c0d5e-7a55-4e0b-9d5c-0a4b3c2d1e0f")
    assert one == fingerprint("cloud", "charge 11111111-2222-3333-4444-555555555555")
    assert one != fingerprint("cloud", "refund 11111111-2222-3333-4444-555555555555")
