"""A crash that the checks raise leaves what a real SIGKILL leaves: every crossing of every case of every exercise, on both databases."""

from dataclasses import replace

import pytest

from labkit.checks import registry
from labkit.checks.answer import load
from labkit.checks.run import NURSERY
from labkit.faults.engines import open_world
from labkit.faults.fidelity import death_points, fidelity
from labkit.faults.runner import Runner
from tests.checkout import ROOT

EVERY = [
    (exercise.id, case.name, database)
    for exercise in registry.every()
    for case in exercise.cases
    for database in (case.databases or ("sqlite",))
]


def scenario(asked, name):
    """The case with the first right answer of the corpus; of several actors the first, by itself."""
    exercise = registry.find(asked)
    path = min((ROOT / "tests/answers" / asked / "right").glob("*.py"))
    played = exercise.case(name).scenario(asked, load(path.read_text(), exercise))
    return replace(played, run=played.bodies[0])


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize(("asked", "name", "database"), EVERY)
def test_a_raised_crash_is_a_sigkill(asked, name, database):
    """At each side of each crossing the raised and the real death leave the same durable state, and none is left out."""
    played = scenario(asked, name)
    with open_world(database) as world:
        expected = len(death_points(Runner(played, world)))
    found = fidelity(played, database, nursery=NURSERY)
    assert [] == found.differences
    assert expected == found.compared


def test_the_checks_are_full_of_crash_points():
    """Each exercise whose answers call out is really put to the test: its cases have crossings to die at."""
    crossed = {}
    for asked, name, database in EVERY:
        if database == "sqlite":
            with open_world("sqlite") as world:
                crossed[asked] = crossed.get(asked, 0) + len(death_points(Runner(scenario(asked, name), world)))
    assert {"warmup", "backoff"} == {asked for asked, count in crossed.items() if count == 0}
