"""Real processes and a real SIGKILL."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import UsageError
from labkit.faults import End, Process, Scenario, Schedule, kill, open_world
from labkit.faults.fidelity import fidelity
from labkit.faults.kill import ChildFailed, Killer, crash_points
from labkit.faults.runner import Runner
from tests.faults import scenarios

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_a_right_program_survives_every_real_kill(database: str) -> None:
    """Killed at each side of each crossing and started again: the effect is there once."""
    report = kill(scenarios.EXECUTE, database)
    assert report.verdict == "holds", report
    assert report.covered == f"{12 if database == 'postgres' else 18} real kills"


@pytest.mark.slow
def test_a_wrong_program_does_not() -> None:
    """The planted bug breaks under real kills at the places where it breaks under raised ones."""
    report = kill(scenarios.WITHOUT_KEY)
    assert report.verdict == "broken"
    assert "2 times" in report.broken[0].why


@pytest.mark.parametrize("engine", [kill, fidelity])
def test_several_actors_are_for_interleave(engine: Callable[[Scenario], object]) -> None:
    """A kill takes one process at a time: with two bodies it would praise a program of which half was run."""
    with pytest.raises(UsageError, match="use interleave"):
        engine(Scenario("two", (scenarios.execute, scenarios.execute)))


def test_a_lock_that_only_a_child_took_is_no_part_of_the_state() -> None:
    """The child tells which files it locked."""

    def body(process: Process) -> None:
        with process.files.lock(Path("a.lock"), process.clock, 1.0):
            process.files.write("b.lock", b"")

    with open_world("sqlite", durable=True) as world:
        Killer(Runner(Scenario("locks", body), world)).process(1)
        assert list(world.files()) == ["b.lock"]


def test_the_process_is_another_one_and_really_dies() -> None:
    """Neither the test's process nor a fork of it: another process id, and a finally that does not run."""

    def body(process: Process) -> int:
        try:
            process.clock.sleep(1)
        finally:
            (Path(process.world.folder) / "finally").touch()
        return os.getpid()

    with open_world("sqlite", durable=True) as world:
        killer = Killer(Runner(Scenario("pid", body), world))
        assert killer.process(1, Schedule.parse("p1@1.before+crash").injections).how == "crashed"
        assert not (world.folder / "finally").exists()
        alive = killer.process(2)
        assert alive.how == "returned"
        assert alive.value != os.getpid()
        assert (world.folder / "finally").exists()


def test_an_end_after_kills_tells_what_one_of_the_sweep_tells() -> None:
    """Calls, time, effects, outcomes: an invariant sees no difference between the engines."""
    schedule = Schedule.parse("p1@clock1.after+crash,p2@cloud1.after+timeout,p2@99.before+crash")

    def body(process: Process) -> str:
        process.clock.sleep(10)
        process.note("here", process.name)
        return process.cloud.charge("ann", key="k")

    ends: list[End] = []
    with open_world("sqlite", durable=True) as world:
        runner = Runner(Scenario("same", body), world)
        ends += [runner.run(schedule)[0], Killer(runner).run(schedule)]
    assert ends[0] == ends[1]
    assert ends[1].seconds == 20.0
    assert ends[1].unreached == ("p2@99.before+crash",)


def test_an_interrupted_process_is_restarted() -> None:
    """Ctrl-C ends a real process as it ends a simulated one."""
    with open_world("sqlite", durable=True) as world:
        end = Killer(Runner(scenarios.EXECUTE, world)).run(Schedule.parse("p1@3.before+interrupt"))
    assert ["raised", "returned"] == [o.how for o in end.outcomes]
    assert end.outcomes[0].error["type"] == "KeyboardInterrupt"


def test_a_child_that_cannot_even_start_is_not_blamed_on_the_program() -> None:
    """What is broken in the machinery is an error of its own."""
    with open_world("sqlite", durable=True) as world:
        job = ("labkit.faults.kill:play", {"scenario": "bm90IGEgcGlja2xl"})
        killer = Killer(Runner(scenarios.EXECUTE, world), job=job)
        with pytest.raises(ChildFailed, match=r"pickle|Unpickling"):
            killer.process(1)
        killer = Killer(Runner(replace(scenarios.EXECUTE, setup=lambda process: None), world))
        assert killer.process(1).how == "returned"  # and the next one runs


def test_crash_points_are_numbered_from_the_first_call() -> None:
    """Both sides of each crossing of the first process, with what stood there."""
    with open_world("memory") as world:
        points = crash_points(Runner(scenarios.SAGA, world))
    assert len(points) == 36
    assert "p1@1.before+crash" == str(points[0]).split("~")[0]
    assert all(point.stood_there for point in points)


def test_a_memory_database_cannot_be_killed() -> None:
    """It would die with its process, and prove nothing."""
    with pytest.raises(UsageError, match="memory"):
        kill(scenarios.SAGA, "memory")
