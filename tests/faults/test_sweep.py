"""The sweep: every crash point of a run, every crash point of every recovery, until no new state appears."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from sqlalchemy import text

from labkit.cloud import Cloud
from labkit.errors import UsageError
from labkit.faults import End, Process, Scenario, every_process_ends, exactly_once, open_world, sweep
from labkit.faults.report import Report, judge
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from labkit.faults.sweep import MOST_STUCK, Closure, sweep_runs
from labkit.task import Task
from tests.faults import scenarios

KINDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.mark.parametrize("database", KINDS)
def test_four_steps_survive_any_number_of_crashes(database: str) -> None:
    """The closure is complete: each state is what a crash left after one more effect or one more record."""
    report = sweep(scenarios.SAGA, database)
    assert report.verdict == "holds", report
    assert report.closure is not None
    assert report.closure.closed
    assert (
        len(report.closure.states) == 9
    )  # nothing; then for each step the effect alone, and the effect with its record
    first_run = [row for row in report.closure.reached if row[0] == next(iter(report.closure.states))]
    assert len(first_run) == (26 if database == "postgres" else 36)


@pytest.mark.parametrize("database", KINDS)
def test_a_doubled_effect_is_found_with_one_crash(database: str) -> None:
    """Without keys the smallest counterexample is a single crash after an effect."""
    report = sweep(scenarios.SAGA_WITHOUT_KEYS, database)
    assert report.verdict == "broken"
    assert report.closure is not None
    assert report.closure.closed
    smallest = report.broken[0]
    assert smallest.token.count("crash") == 1
    assert "happened 2 times" in smallest.why
    assert report.trace is not None
    assert report.trace.broken == smallest.why
    verdicts = [verdict for _, verdict, _ in report.strip()]
    assert 0 < verdicts.count("broken") < len(verdicts)


def swallow(process: Process) -> str:
    try:
        return scenarios.run_steps(process)
    except BaseException:
        with suppress(BaseException):
            process.cloud.configure_route("shop")
        return "fine"


def clean_up(process: Process) -> str:
    try:
        return scenarios.run_steps(process)
    finally:
        if process.gate.dead:
            process.files.write("cleaned", b"up")


def leave_a_thread(process: Process) -> str:
    died = threading.Event()

    def later() -> None:
        died.wait(10)
        with suppress(BaseException):
            process.cloud.charge("ghost") if process.gate.dead else None

    thread = threading.Thread(target=later)
    thread.start()
    try:
        return scenarios.run_steps(process)
    finally:
        died.set()
        thread.join(10)


@pytest.mark.parametrize("database", ["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
@pytest.mark.parametrize("body", [swallow, clean_up, leave_a_thread])
def test_code_that_fights_its_death_sweeps_like_code_that_does_not(
    body: Callable[[Process], Any], database: str
) -> None:
    """Swallowing everything, returning anyway, cleaning up: the states are those of a real death."""
    plain, fighting = Closure(), Closure()
    for scenario, closure in (
        (scenarios.SAGA, plain),
        (replace(scenarios.SAGA, run=body, recover=scenarios.run_steps), fighting),
    ):
        with open_world(database) as world:
            for end, _ in sweep_runs(Runner(scenario, world), closure=closure):
                assert scenario.why_broken(end) == []
    assert {left for _, _, left in plain.reached} == {left for _, _, left in fighting.reached}


def test_a_memory_of_its_own_dies_with_the_process() -> None:
    """What a program keeps only in memory is gone, so it does everything again."""

    def body(process: Process) -> None:
        seen: set[str] = vars(process).setdefault("seen", set())
        if "shop" not in seen:
            process.cloud.deploy_container("shop")
            seen.add("shop")
            process.clock.sleep(1)

    report = sweep(Scenario("memory", body, [exactly_once("deploy_container")]))
    assert report.verdict == "broken"
    assert "2 times" in report.broken[0].why


def test_a_memory_store_is_mortal() -> None:
    """`store="memory"` loses its tasks with its process; the files and the database stay."""
    report = sweep(
        replace(
            scenarios.EXECUTE, store="memory", run=lambda p: p.store.save(Task("t1", "x")), invariants=[], goal=None
        )
    )
    assert report.verdict == "not_exercised"  # it calls nothing outside, so there is no place to crash it at


def test_code_that_swallows_for_ever_counts_as_crashed() -> None:
    """It is stopped, recovered like any other, and there are not more stuck threads than we can bear."""

    def body(process: Process) -> None:
        while True:
            try:
                process.cloud.deploy_container("shop", key="k")
                process.clock.sleep(1)
                return
            except BaseException:
                continue

    closure = Closure()
    with open_world("memory") as world:
        runner = Runner(Scenario("stubborn", body, scenarios.DEPLOYED), world)
        ends = list(sweep_runs(runner, closure=closure))
    assert all(not runner.scenario.why_broken(end) for end, _ in ends)
    assert 0 < closure.stuck <= MOST_STUCK
    assert closure.crash_points == closure.stuck


def test_a_program_without_end_is_broken_and_soon_reported() -> None:
    """The sweep does not crash a run without end at each of its thousand crossings."""

    def body(process: Process) -> None:
        while True:
            process.clock.sleep(1)

    report = sweep(Scenario("endless", body, [every_process_ends]))
    assert report.verdict == "broken"
    assert "p1 never ends" in report.broken[0].why
    assert report.closure is not None
    assert (1, False) == (report.closure.runs, report.closure.closed)


def test_a_program_whose_states_never_end_is_capped() -> None:
    """One that grows by each crash is tried up to the cap, and the report says so."""

    def body(process: Process) -> None:
        with process.engine.begin() as connection:
            connection.execute(text("INSERT INTO log (at) VALUES (:at)"), {"at": process.name})
        process.clock.sleep(1)

    def setup(process: Process) -> None:
        with process.engine.begin() as connection:
            connection.execute(text("CREATE TABLE log (id INTEGER PRIMARY KEY, at TEXT)"))

    report = sweep(Scenario("growing", body, setup=setup))
    assert report.closure is not None
    assert not report.closure.closed
    assert "capped" in str(report)


@pytest.mark.parametrize("database", ["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
@pytest.mark.parametrize("read", ["name", "random"])
def test_who_goes_on_matters_once_the_code_asks(read: str, database: str) -> None:
    """A third process that charges twice is found though it starts from the state of the second; and the sweep does not say that it is closed."""
    third = Random("labkit p3").random()

    def body(process: Process) -> None:
        process.clock.sleep(1)
        third_time = process.name == "p3" if read == "name" else process.random.random() == third
        process.cloud.charge("ann", key="k" if not third_time else "again")
        process.cloud.charge("ann", key="k")

    report = sweep(Scenario("third", body, [exactly_once("charge")]), database)
    assert report.verdict == "broken"
    assert ",p2@" in report.broken[0].token
    assert report.closure is not None
    assert not report.closure.closed


def test_a_name_that_only_the_first_process_asks_for_is_no_matter() -> None:
    """What recovers asks for nothing: its states close."""

    def run(process: Process) -> str:
        process.cloud.charge("ann", key="k")
        return process.name

    recover = partial(Cloud.charge, customer="ann", key="k")
    report = sweep(Scenario("first", run, [exactly_once("charge")], recover=lambda process: recover(process.cloud)))
    assert (report.verdict, report.closure and report.closure.closed) == ("holds", True)


def test_what_recovers_from_the_very_first_state_is_run_too() -> None:
    """A crash that left nothing is recovered by `recover`, not by `run`."""

    def run(process: Process) -> None:
        process.clock.sleep(1)
        process.cloud.deploy_container("shop", key="k")

    report = sweep(
        Scenario("first", run, [exactly_once("deploy_container")], recover=lambda process: process.clock.sleep(1))
    )
    assert report.verdict == "broken"  # for `recover` never deploys
    assert "p1@1" in report.broken[0].token


def test_other_faults_strike_where_they_can() -> None:
    """A kind that cannot sit at a place is left out there, and recovery only crashes."""
    tokens: list[str] = []
    with open_world("memory") as world:
        runner = Runner(replace(scenarios.SAGA, invariants=[]), world)
        for end, _ in sweep_runs(runner, ("crash", "timeout", "late(30)", "duplicate", "torn(3)", "interrupt", "hang")):
            tokens.append(end.token)
            assert end.moved == ()
            assert end.unreached == ()
    assert sum("late" in token for token in tokens) == 4  # one for each cloud call
    assert sum("duplicate" in token for token in tokens) == 4
    assert not any("torn" in token for token in tokens)
    assert any("timeout" in token for token in tokens)


def test_a_late_effect_lands_after_its_process_has_given_up() -> None:
    """The request is on its way while the next one runs; without a key the effect doubles."""

    def body(process: Process) -> None:
        for _ in range(2):
            with suppress(TimeoutError):
                process.cloud.charge("ann")
                return

    with open_world("memory") as world:
        runner = Runner(Scenario("charge", body, [exactly_once("charge")]), world)
        ends = {end.token: end for end, _ in sweep_runs(runner, ("late(30)",))}
    (late,) = (end for token, end in ends.items() if "late" in token)
    assert 2 == late.count("charge")


def test_new_states_are_told_before_anybody_goes_on() -> None:
    """`left` sees each distinct state that a crash left, once."""
    seen: list[End] = []
    closure = Closure()
    with open_world("memory") as world:
        list(sweep_runs(Runner(scenarios.SAGA, world), closure=closure, left=seen.append))
    assert len(seen) == len(closure.states) - 1
    assert all(end.last.how == "crashed" for end in seen)


def test_only_a_write_can_be_torn() -> None:
    """To flush, to rename and to remove are done or not: a torn one would strike nothing and count all the same."""

    def body(process: Process) -> None:
        process.files.write("a", b"1234567")
        process.files.fsync("a")
        process.files.replace("a", "b")
        process.files.remove("b")

    closure = Closure()
    with open_world("memory") as world:
        runner = Runner(Scenario("files", body), world)
        list(sweep_runs(runner, ("torn(3)",), closure, most_crashes=0))
        end, _ = runner.run(Schedule.parse("p1@2.before+torn(3)"))
    assert (closure.struck, closure.runs) == (1, 2)
    assert end.moved == ("p1@2.before+torn(3): file fsync a",)
    assert end.last.how == "returned"


def test_several_actors_are_for_interleave() -> None:
    """One call, one clear line."""
    with pytest.raises(UsageError, match="use interleave"):
        sweep(Scenario("two", (scenarios.execute, scenarios.execute)))


def test_faults_other_than_a_crash_count_too() -> None:
    """A sweep with time-outs alone has put the scenario to the test, and says how often."""
    report = sweep(scenarios.SAGA, faults=("timeout",))
    assert report.closure is not None
    assert (0, "holds") == (report.closure.crash_points, report.verdict)
    assert f"{report.closure.struck} faults" in report.covered


def test_a_state_that_nobody_went_on_from_is_drawn_as_that() -> None:
    """A sweep that was capped has no verdict on what its last crashes left, and its strip draws none."""
    closure = Closure()
    with open_world("memory") as world:
        runner = Runner(scenarios.SAGA, world)
        broken, _, verdicts = judge(scenarios.SAGA, sweep_runs(runner, closure=closure, most_crashes=0))
    report = Report(scenarios.SAGA, "holds", str(closure), broken, closure=closure, verdicts=verdicts)
    untouched = [token for before, token, left in closure.reached if left == before]
    found = report.strip()
    assert len(found) == len(closure.reached) > len(untouched) > 0
    assert [token for token, verdict, _ in found if verdict == "holds"] == untouched
    assert {(verdict, why) for token, verdict, why in found if token not in untouched} == {
        ("not_exercised", "the sweep was capped before anybody went on from here")
    }


def test_a_capped_sweep_says_what_capped_it() -> None:
    """Depth and number of runs are two different caps."""
    deep, many = Closure(), Closure()
    with open_world("memory") as world:
        runner = Runner(scenarios.SAGA, world)
        list(sweep_runs(runner, closure=deep, most_crashes=0))
        list(sweep_runs(runner, closure=many, most_runs=9))
    assert len(deep.states) == 1
    assert (False, "0 crashes in a row") == (deep.closed, deep.capped)
    assert str(many).endswith("10 runs, capped at 10 runs")
