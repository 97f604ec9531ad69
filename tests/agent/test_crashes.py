"""The agent under every crash, real kills and drawn schedules: each effect once, a history that the chat API takes, one last event."""

from __future__ import annotations

import pytest

from labkit.faults import Scenario, open_world, search, sweep
from labkit.faults.kill import kill_runs
from labkit.faults.nursery import Nursery
from labkit.faults.report import Counterexample, judge
from labkit.faults.runner import Runner
from labkit.faults.sweep import Closure, sweep_runs
from tests.agent import worlds

pytestmark = pytest.mark.sampled

NURSERY = Nursery(["labkit.faults.kill", "labkit.faults.warming:warm", "tests.agent.worlds:warm"], reuse=True)  # once for all
DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
MODEL = ("rate_limited(7)", "server_error", "malformed_arguments", "unknown_tool", "empty", "cut", "timeout", "error")


@pytest.mark.slow
def test_the_closure() -> None:
    """Any number of crashes anywhere: the closure closes and nothing breaks."""
    report = sweep(worlds.SHORT).or_raise()
    assert report.closure is not None
    assert report.closure.closed, report


def one_crash(scenario: Scenario, database: str = "memory") -> tuple[list[Counterexample], Closure]:
    """What a crash at each crossing leads to: each state that one leaves is gone on from, once."""
    closure = Closure()
    with open_world(database) as world:
        runner = Runner(scenario, world)
        places = len(list(runner.once(runner.start, 1, scenario.bodies).injections(1, ("crash",))))
        broken, reached, _ = judge(scenario, sweep_runs(runner, ("crash",), closure, most_runs=1 + places))
    assert (places, True) == (closure.crash_points, reached)
    return broken, closure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "database"),
    [(worlds.DEPLOYMENT, "memory"), (worlds.APPROVED, "memory"), pytest.param(worlds.SHORT, "postgres", marks=pytest.mark.postgres)],
)
def test_one_crash(scenario: Scenario, database: str) -> None:
    """A crash at each crossing of the longer runs; their closures take a minute each (`python -m tests.searching`)."""
    broken, closure = one_crash(scenario, database)
    assert [] == broken
    assert len(closure.states) > 10


@pytest.mark.slow
def test_everything_that_a_model_does() -> None:
    """Its answers late, lost, refused, empty, cut off or wrong, at each request: the run ends as it should."""
    sweep(worlds.SHORT, faults=MODEL).or_raise()


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_real_kills(database: str) -> None:
    """A real SIGKILL at each side of each crossing."""
    with open_world(database, durable=True) as world:
        ends = list(kill_runs(Runner(worlds.SHORT, world), NURSERY))
    broken, reached, _ = judge(worlds.SHORT, ends)
    assert ([], True) == (broken, reached)
    assert len(ends) >= 60
    assert all(end.outcomes[0].how == "crashed" for end, _ in ends)


@pytest.mark.parametrize("scenario", [worlds.DEPLOYMENT, worlds.APPROVED], ids=lambda scenario: scenario.name)
def test_drawn_schedules(scenario: Scenario) -> None:
    """Mixed faults in several processes; many more of them by `python -m tests.searching`."""
    assert "holds" == search(scenario, examples=30).verdict


@pytest.mark.parametrize("scenario", worlds.PLANTED, ids=lambda scenario: scenario.name)
def test_planted_bugs_are_found(scenario: Scenario) -> None:
    """Each property is shown failing: the same sweep finds each of these."""
    assert one_crash(scenario)[0]
