"""The engines by name, for a notebook or a test: give a scenario, get a report.

`sweep` tries every crash point of every recovery, `interleave` every order of several actors, `search` draws mixed schedules, `kill` kills real processes, and
`replay` runs one token. Each builds a world, runs, judges and cleans up.

Not handled here: which of them a check uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from labkit.errors import UsageError
from labkit.faults.interleave import Orders, interleave_runs
from labkit.faults.kill import kill_runs
from labkit.faults.report import BROKEN, HOLDS, NOT_EXERCISED, Counterexample, Report, judge, simplest
from labkit.faults.runner import Runner
from labkit.faults.scenario import End, Scenario, alone
from labkit.faults.schedule import Schedule, Token
from labkit.faults.search import FAULTS, search_runs
from labkit.faults.sweep import Closure, sweep_runs
from labkit.faults.trace import Trace
from labkit.faults.world import World
from labkit.plural import counted


@contextmanager
def open_world(database: str, *, durable: bool = False) -> Iterator[World]:
    """A world for a while; for postgres with a database of its own that is dropped afterwards."""
    if database != "postgres":
        with World(database, durable=durable) as world:
            yield world
        return
    from labkit.postgres import fresh_database

    with fresh_database() as fresh, World(database, url=fresh.url, durable=durable) as world:
        yield world


def sweep(scenario: Scenario, database: str = "memory", *, faults: Sequence[str] = ("crash",)) -> Report:
    """Crash at every crossing, and at every crossing of every recovery, until no new state appears."""
    alone(scenario)
    closure = Closure()
    with open_world(database) as world:
        runner = Runner(scenario, world)
        broken, reached, verdicts = judge(scenario, sweep_runs(runner, faults, closure))
        report = _report(scenario, runner, broken, reached and closure.struck > 0, str(closure))
    report.closure, report.verdicts = closure, verdicts
    return report


def interleave(scenario: Scenario, database: str = "sqlite", *, preemptions: int = 2) -> Report:
    """Every order of the scenario's actors within the bound."""
    orders = Orders()
    with open_world(database) as world:
        runner = Runner(scenario, world)
        broken, reached, _ = judge(scenario, interleave_runs(runner, preemptions=preemptions, orders=orders))
        hit = len({one.token for one in broken})
        covered = f"{hit} of {orders}" if hit else str(orders)
        return _report(scenario, runner, broken, reached and orders.contested > 0, covered)


def search(
    scenario: Scenario, database: str = "memory", *, examples: int = 200, faults: Sequence[str] = FAULTS
) -> Report:
    """Mixed schedules drawn by Hypothesis; the counterexample is the smallest that it could shrink to."""
    with open_world(_lockable(scenario, database)) as world:
        runner = Runner(scenario, world)
        reached, struck = [False], [len(scenario.bodies) > 1]  # of several actors the orders are drawn too

        def seen(end: End) -> None:
            reached.append(scenario.reached_by(end))
            drawn = Token.parse(end.token).schedule.injections
            struck.append(len(drawn) > len(end.unreached) + len(end.moved))

        ran, worst = search_runs(runner, examples=examples, faults=faults, seen=seen)
        broken = [Counterexample(worst.token, *found) for found in scenario.why_broken(worst)] if worst else []
        return _report(scenario, runner, broken, any(reached) and any(struck), f"{counted(ran, 'schedule')} drawn")


def kill(scenario: Scenario, database: str = "sqlite") -> Report:
    """A real SIGKILL at every crossing of the first process."""
    if database == "memory":
        raise UsageError("a memory database dies with its process: kill on sqlite or postgres")
    alone(scenario)
    with open_world(database, durable=True) as world:
        runner = Runner(scenario, world)
        ends = list(kill_runs(runner))
        broken, reached, _ = judge(scenario, ends)
        return _report(scenario, runner, broken, reached and bool(ends), counted(len(ends), "real kill"))


def replay(scenario: Scenario, token: str) -> Trace:
    """The trace of one token. Raises `UsageError` for a token of another scenario."""
    asked = Token.parse(token)
    if asked.scenario != scenario.name:
        raise UsageError(f"the token is of {asked.scenario}, not of {scenario.name}")
    with open_world(_lockable(scenario, asked.database)) as world:
        return Runner(scenario, world).replay(asked.schedule)[1]


def run_once(scenario: Scenario, schedule: str = "none", database: str = "memory") -> Trace:
    """The trace of one schedule, such as p1@3.after+crash."""
    with open_world(_lockable(scenario, database)) as world:
        return Runner(scenario, world).replay(Schedule.parse(schedule))[1]


def _lockable(scenario: Scenario, database: str) -> str:
    """Several actors need a database that can make one of them wait."""
    return "sqlite" if len(scenario.bodies) > 1 and database == "memory" else database


def _report(scenario: Scenario, runner: Runner, broken: list[Counterexample], exercised: bool, covered: str) -> Report:
    found = simplest(broken)
    trace = runner.replay(Token.parse(found[0].token).schedule)[1] if found else None
    verdict = BROKEN if found else HOLDS if exercised else NOT_EXERCISED
    return Report(scenario, verdict, covered, found, trace)
