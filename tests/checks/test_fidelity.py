"""A crash that the checks raise leaves what a real SIGKILL leaves: every crossing of every case of every exercise, on both databases."""

from dataclasses import replace

import pytest

from labkit.checks import registry
from labkit.checks.answer import load
from labkit.checks.host import Worlds
from labkit.checks.run import nursery_with, room
from labkit.faults.fidelity import TORN, fidelity_in
from labkit.faults.runner import Runner
from tests.checkout import ROOT

EVERY = [
    (exercise.id, case.name, database)
    for exercise in registry.every()
    for case in exercise.cases
    for database in (case.databases or ("sqlite",))
]


@pytest.fixture(scope="module")
def worlds():
    """One world of each kind for all cases, with files that real processes share."""
    with room("postgres") as (url, folder), Worlds(folder, url, durable=True) as opened:
        yield opened


def scenario(asked, name):
    """The case with the first right answer of the corpus; of several actors the first, by itself."""
    exercise = registry.find(asked)
    path = min((ROOT / "tests/answers" / asked / "right").glob("*.py"))
    played = exercise.case(name).scenario(asked, load(path.read_text(), exercise))
    return replace(played, run=played.bodies[0])


def overheard(played, records):
    """The same scenario; the record of each run in this process, which is written while it runs, is kept in `records`."""

    def body(process):
        records.append(process.gate.record)
        return played.run(process)

    return replace(played, run=body)


def deaths(record):
    """How many deaths a run can die by its record: one at each side of each crossing, and more in the middle of a write to a file."""
    crossings = [(side, f"{boundary} {label}") for kind, _, _, _, side, boundary, label, _, _ in record if kind == "cross"]
    return len(crossings) + len(TORN) * sum(side == "before" and it.startswith("file write ") for side, it in crossings)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize(("asked", "name", "database"), EVERY)
def test_a_raised_crash_is_a_sigkill(asked, name, database, worlds):
    """At each side of each crossing the raised and the real death leave the same durable state, and none is left out."""
    records = []
    world = worlds.empty(database, database=True)
    found = fidelity_in(world, overheard(scenario(asked, name), records), nursery_with(registry.find(asked).preload))
    undisturbed, *died = records
    assert [] == found.differences
    assert deaths(undisturbed) == found.compared == len(died)


def test_the_checks_are_full_of_crash_points(worlds):
    """Each exercise whose answers call out is really put to the test: its cases have crossings to die at."""
    crossed = {}
    for asked, name, database in EVERY:
        if database == "sqlite":
            runner = Runner(scenario(asked, name), worlds.empty("sqlite", database=True))
            run = runner.once(runner.start, 1, runner.scenario.bodies[:1])
            crossed[asked] = crossed.get(asked, 0) + deaths(run.record)
    assert {"warmup", "backoff", "patch", "context", "endpoint", "sse", "invariant"} == {asked for asked, count in crossed.items() if count == 0}
