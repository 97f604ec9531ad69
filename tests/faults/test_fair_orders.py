"""Orders that are left out because another shows the same, and actors that go round and round waiting for one another."""

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import OperationalError

from labkit.faults import Scenario
from labkit.faults.engines import open_world
from labkit.faults.interleave import Orders, interleave_runs
from labkit.faults.runner import Runner
from labkit.tables import tasks

BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def two_tasks(process):
    with process.engine.begin() as connection:
        connection.execute(insert(tasks), [{"id": name, "user_input": "x"} for name in "ab"])


def take(process, lock):
    """Look and take in one transaction."""
    with process.engine.begin() as connection:
        free = (
            select(tasks.c.id).where(tasks.c.state == "pending").order_by(tasks.c.id).limit(1).with_for_update(**lock)
        )
        found = connection.scalar(free)
        if found is not None:
            connection.execute(update(tasks).where(tasks.c.id == found).values(state="running"))
        return found


def stubborn(process):
    """Try again at once, for as long as it is refused."""
    while True:
        try:
            return take(process, {"nowait": True})
        except OperationalError:
            continue


def ends(body, actors, database, **options):
    scenario = Scenario("takers", [body] * actors, setup=two_tasks)
    with open_world(database) as world:
        orders = Orders()
        found = [end for end, _ in interleave_runs(Runner(scenario, world), orders=orders, **options)]
    return found, orders


@pytest.mark.parametrize("database", BOTH)
def test_whoever_is_refused_lets_the_holder_move(database):
    """Two that try again at once whenever they are refused both come to an end in every order, each with one task."""
    found, orders = ends(stubborn, 2, database)
    assert orders.closed
    assert {("a", "b")} == {tuple(sorted(outcome.value for outcome in end.outcomes)) for end in found}


@pytest.mark.parametrize("database", BOTH)
def test_alike_actors_show_the_same_in_fewer_orders(database):
    """Up to the actors' names the orders of alike actors show all that all orders show."""

    def seen(found):
        return {tuple(sorted(str(outcome.value) for outcome in end.outcomes)) for end in found}

    every, all_orders = ends(stubborn, 3, database)
    fewer, orders = ends(stubborn, 3, database, alike=True)
    assert seen(every) == seen(fewer)
    assert 6 * orders.runs <= all_orders.runs + 6
    assert "up to the actors' names" in str(orders)


def test_waiting_in_circles_lets_others_move():
    """An actor that asks until another has acted gives the others their turn, though nothing refuses it."""

    def waits(process):
        while True:
            with process.engine.connect() as connection:
                if connection.scalar(select(tasks.c.state).where(tasks.c.id == "a")) == "running":
                    return "seen"

    def acts(process):
        with process.engine.begin() as connection:
            connection.execute(update(tasks).where(tasks.c.id == "a").values(state="running"))

    scenario = Scenario("circles", [waits, acts], setup=two_tasks)
    with open_world("sqlite") as world:
        end, _ = next(interleave_runs(Runner(scenario, world)))
    assert ["returned", "returned"] == [outcome.how for outcome in end.outcomes]
