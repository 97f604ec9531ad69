"""The four-step deployment under every crash, every fault, real kills and drawn schedules: everything exists once, or nothing."""

from __future__ import annotations

import pytest

from labkit.faults import Scenario, open_world, search, sweep
from labkit.faults.kill import kill_runs
from labkit.faults.nursery import Nursery
from labkit.faults.report import judge
from labkit.faults.runner import Runner
from tests.saga import worlds
from tests.saga.planted import PLANTED
from tests.searching import FAULTS, SAGAS

NURSERY = Nursery(["labkit.faults.kill", "labkit.faults.warming:warm", "tests.saga.worlds"], reuse=True)  # imported once
DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
SHORT = worlds.scenario("saga.short", fail="configure_route", kind="unknown", landed=True)
IN_MEMORY = [
    worlds.FORWARD,
    worlds.scenario("saga.first", fail="create_namespace", kind="unknown", landed=True),
    worlds.scenario("saga.second", fail="deploy_container"),
    worlds.BACKWARD,
    worlds.NESTED,
]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", IN_MEMORY, ids=lambda scenario: scenario.name)
def test_the_closure_in_memory(scenario: Scenario) -> None:
    """Any number of crashes anywhere, with each step failing in some way: the closure closes and nothing breaks."""
    report = sweep(scenario).or_raise()
    assert report.closure is not None
    assert report.closure.closed, report


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("scenario", [worlds.FORWARD, SHORT], ids=lambda scenario: scenario.name)
def test_the_closure_on_a_database(scenario: Scenario, database: str) -> None:
    """The same with a file and with a server, forward and backward."""
    report = sweep(scenario, database).or_raise()
    assert report.closure is not None
    assert report.closure.closed, report


@pytest.mark.slow
def test_every_single_fault() -> None:
    """Errors, lost answers, doubled deliveries and Ctrl-C at every crossing, of the cloud and of the database, and crashes after them."""
    faults = ("error", "timeout", "duplicate", "interrupt", "delay(30)", "clock_step(-3600)")
    sweep(worlds.FORWARD_UNDER_FAULTS, faults=faults).or_raise()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "database"), [(SHORT, "sqlite"), pytest.param(worlds.FORWARD, "postgres", marks=pytest.mark.postgres)]
)
def test_real_kills(scenario: Scenario, database: str) -> None:
    """A real SIGKILL at each side of each crossing, backward and forward."""
    with open_world(database, durable=True) as world:
        ends = list(kill_runs(Runner(scenario, world), NURSERY))
    broken, reached, _ = judge(scenario, ends)
    assert ([], True) == (broken, reached)
    assert len(ends) >= 20
    assert all(end.outcomes[0].how == "crashed" for end, _ in ends)


@pytest.mark.parametrize("scenario", SAGAS, ids=lambda scenario: scenario.name)
def test_drawn_schedules(scenario: Scenario) -> None:
    """Mixed faults in several processes; many more of them by `python -m tests.searching`."""
    assert "holds" == search(scenario, examples=50, faults=FAULTS).verdict


@pytest.mark.parametrize("scenario", PLANTED, ids=lambda scenario: scenario.name)
def test_planted_bugs_are_found(scenario: Scenario) -> None:
    """Each property is shown failing: the same sweep finds each of these."""
    assert "broken" == sweep(scenario, faults=("crash",)).verdict
