"""The engines by name: verdicts, and replays that do not pretend."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from labkit.errors import CallTimeout, UsageError
from labkit.faults import End, Process, Scenario, interleave, kill, open_world, replay, run_once, search, sweep
from labkit.faults.report import InvariantBroken
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from tests.faults import scenarios

TWO_DO_NOTHING = replace(scenarios.DO_NOTHING, run=(scenarios.do_nothing, scenarios.do_nothing))


def test_a_program_that_does_nothing_is_never_praised() -> None:
    """No invariant is broken, the goal is not reached: not exercised, by each engine."""
    for report in (
        sweep(scenarios.DO_NOTHING),
        interleave(TWO_DO_NOTHING),
        search(scenarios.DO_NOTHING),
        kill(scenarios.DO_NOTHING),
    ):
        assert report.verdict == "not_exercised", report
        assert report.broken == []


def test_a_report_can_be_a_test() -> None:
    """`or_raise` is for an assert: it gives the report back or raises with the smallest counterexample."""
    assert sweep(scenarios.EXECUTE).or_raise().verdict == "holds"
    with pytest.raises(InvariantBroken, match=r"2 times.*\[without_key/memory:p1@6\.after\+crash~"):
        sweep(scenarios.WITHOUT_KEY).or_raise()


def test_anything_that_can_be_called_is_an_invariant() -> None:
    """A partial is told by the name of its function, an object by that of its class."""

    class Nothing:
        def __call__(self, end: End) -> str:
            return "nobody is content"

    def at_most(times: int, end: End) -> str | None:
        return None if end.count("charge") <= times else "too many"

    report = sweep(Scenario("odd", lambda process: process.cloud.charge("ann"), [partial(at_most, 0), Nothing()]))
    assert {"at_most", "Nothing"} == {found.invariant for found in report.broken}
    assert report.trace is not None


def test_the_counterexample_replays() -> None:
    """The token brings the trace of the report, to the byte."""
    report = sweep(scenarios.WITHOUT_KEY)
    assert report.trace is not None
    assert replay(scenarios.WITHOUT_KEY, report.broken[0].token).to_jsonl() == report.trace.to_jsonl()


def test_a_replay_on_other_code_says_what_it_did_not_reach() -> None:
    """A shorter program has no such crossing any more; the trace says so instead of looking fine."""
    token = "without_key/memory:p1@99.after+crash"
    notes = [line for line in replay(scenarios.WITHOUT_KEY, token).lines if line.kind == "note"]
    assert [("crossing not reached", "p1@99.after+crash")] == [(line.label, line.text) for line in notes]
    assert "crossing not reached" in str(replay(scenarios.WITHOUT_KEY, token))


def test_a_replay_on_other_code_says_what_stands_there_now() -> None:
    """The code has one call more: the fault strikes another call than the one it was found at."""
    report = sweep(scenarios.WITHOUT_KEY)

    def changed(process: Process) -> object:
        process.clock.sleep(1)
        return scenarios.without_key(process)

    trace = replay(replace(scenarios.WITHOUT_KEY, run=changed), report.broken[0].token)
    notes = [line for line in trace.lines if line.kind == "note"]
    assert ["something else stands there"] == [line.label for line in notes]
    assert notes[0].text.startswith(report.broken[0].token.split(":")[1])
    assert "sql" in notes[0].text


def test_a_fault_that_cannot_happen_there_is_told_too() -> None:
    """A time-out of a sleep strikes nobody."""
    trace = run_once(Scenario("sleep", lambda process: process.clock.sleep(1)), "p1@1.before+timeout")
    assert [line.fault for line in trace.lines if line.fault] == []
    assert [(line.kind, line.label) for line in trace.lines if line.process == "p1" and line.kind == "end"] == [
        ("end", "returned")
    ]
    assert "something else stands there  (p1@1.before+timeout: clock sleep 1)" in str(trace)


def test_an_end_says_the_same() -> None:
    """`unreached` and `moved` are there for a judge."""
    with open_world("memory") as world:
        end, _ = Runner(scenarios.EXECUTE, world).run(Schedule.parse("p1@1.before+crash~000,p7@1.before+crash"))
    assert end.unreached == ("p7@1.before+crash",)
    assert [place.partition(":")[0] for place in end.moved] == ["p1@1.before+crash~000"]


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("other/memory:none", "the token is of other"),
        ("execute/oracle:none", "no such database"),
        ("execute/memory:p1@1.before+boom", "no such fault"),
        ("nonsense", "is not a token"),
    ],
)
def test_a_token_of_something_else_is_refused(token: str, why: str) -> None:
    """With one clear line."""
    with pytest.raises(UsageError, match=why):
        replay(scenarios.EXECUTE, token)


@pytest.mark.parametrize("database", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_an_error_in_the_scene_is_not_the_programs(database: str) -> None:
    """A scenario whose `setup` fails is a broken scenario, not a broken program."""

    def broken(process: Process) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sweep(replace(scenarios.EXECUTE, setup=broken), database)


def test_what_is_due_arrives_before_a_restart() -> None:
    """A request that is on its way for no time at all is there when the next process looks."""

    def ask(process: Process) -> None:
        process.note("effects", str(len(process.cloud.effects())))
        process.cloud.deploy_container("shop", key="k")

    def ask_twice(process: Process) -> None:
        with suppress(CallTimeout):
            ask(process)
        ask(process)

    trace = run_once(Scenario("asks_twice", ask_twice), "p1@1.before+late(0),p1@2.before+crash")
    assert ["0", "0", "1", "1"] == [line.text for line in trace.lines if line.kind == "note"]
