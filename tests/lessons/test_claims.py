"""Ways to take the next task: each breaks on the databases where the lesson says, in the way it says, and the right one is right."""

import pytest

from labkit.faults import interleave, open_world, run_once
from labkit.faults.runner import Runner
from labkit.faults.schedule import Token
from labkit.lessons import claim_grid, claims
from labkit.lessons.claim_grid import CRASH, NAMES, Grid
from labkit.lessons.claim_runs import (
    WORDS,
    at_every_place,
    at_once,
    dies,
    in_every_order,
    look_first,
    orders,
    shown,
    waiting,
)

WAITS = "1x2.2x2.1x2.2x9"  # p1 has chosen, p2 comes, p1 commits, p2 goes on
TWO = {  # what two workers at once come to: on SQLite, on PostgreSQL
    claims.select_then_update: ("doubled", "doubled"),
    claims.in_a_driver_transaction: ("doubled", None),
    claims.in_one_transaction: ("error", "doubled"),
    claims.write_lock_first: ("right", "doubled"),
    claims.update_by_id: ("right", "doubled"),
    claims.update_if_pending: ("right", "blocked"),
    claims.lock_without_skip: ("right", "blocked"),
    claims.skip_without_lock: ("error", "error"),
    claims.lock_given_back: ("doubled", "doubled"),
    claims.limit_inside_in: ("right", "lost"),
    claims.no_lease: ("right", "right"),
    claims.with_a_lease: ("right", "right"),
}
ON_SQLITE = [(claim, one) for claim, (one, _) in TWO.items()]
ON_POSTGRES = [(claim, other) for claim, (_, other) in TWO.items() if other]


def worst(runs):
    return max((word for _, word in runs), key=WORDS.index)


def told(trace):
    """How each process ended, in words."""
    return [line.text for line in trace.lines if line.kind == "end"]


@pytest.mark.parametrize(("claim", "word"), ON_SQLITE, ids=lambda value: getattr(value, "__name__", None))
def test_two_at_once_on_sqlite(claim, word):
    """The worst that comes of each claim in every order."""
    assert word == worst(in_every_order(claim))


@pytest.mark.postgres
@pytest.mark.parametrize(("claim", "word"), ON_POSTGRES, ids=lambda value: getattr(value, "__name__", None))
def test_two_at_once_on_postgres(claim, word):
    """The same, where rows have locks of their own."""
    assert word == worst(in_every_order(claim, "postgres"))


def test_every_claim_has_a_row():
    """Nothing of the table is left without a test."""
    assert set(TWO) == set(NAMES)


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_two_that_look_first_double_it_and_no_others(database):
    """The rule of the picture: doubled if and only if both look before one has committed."""
    found = []
    runs = in_every_order(claims.select_then_update, database)
    with open_world(database) as world:
        runner = Runner(at_once(claims.select_then_update), world)
        for token, word in runs:
            found.append((look_first(runner.replay(Token.parse(token).schedule)[1]), word))
    assert {(True, "doubled"), (False, "right")} == set(found)


def test_the_picture_holds_every_order_once():
    """Sorted into two rows, none left out."""
    cells = [cell.token for row in orders(claims.select_then_update).rows for cell in row.cells]
    assert sorted(token for token, _ in in_every_order(claims.select_then_update)) == sorted(cells)


def test_the_symptom():
    """On the order that the lesson begins with both workers are given `shop`, and both deploy it."""
    trace = shown(claims.select_then_update, "1x3.2x9")
    assert ("shop was deployed twice", ["returned ['shop']"] * 2) == (trace.broken, told(trace))


def test_the_driver_sends_no_begin_before_the_look():
    """Only the UPDATE stands in its transaction, so both may look; with a real BEGIN the second one is refused."""
    assert {"doubled", "right"} == {word for _, word in in_every_order(claims.in_a_driver_transaction)}
    assert {"error", "right"} == {word for _, word in in_every_order(claims.in_one_transaction)}
    refused = interleave(at_once(claims.in_one_transaction))
    assert "database is locked" in refused.broken[0].why


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("claim", "second", "broken"),
    [
        (claims.update_by_id, ["shop"], "shop was deployed twice"),
        (claims.update_if_pending, [], "p2 waits for a row, and the other task is free"),
        (claims.lock_without_skip, ["blog"], "p2 waits for a row, and the other task is free"),
        (claims.no_lease, ["blog"], None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_whoever_comes_second_on_postgres(claim, second, broken):
    """It waits for the row and takes it too, or takes none, or the next one; or it does not wait."""
    trace = shown(claim, WAITS, "postgres")
    assert broken == trace.broken
    assert f"returned {second}" in told(trace)
    assert (claim is not claims.no_lease) == (waiting(trace) == "p2")


def test_a_wait_for_the_file_is_no_wait_for_a_row():
    """SQLite has one lock for all that write; nobody is called blocked for it."""
    assert "" == waiting(shown(claims.update_by_id, WAITS))


@pytest.mark.postgres
def test_a_wait_is_seen_only_where_somebody_waits():
    """Of the orders of FOR UPDATE those in which one comes in the middle of the other, and no others."""
    words = [word for _, word in in_every_order(claims.lock_without_skip, "postgres")]
    assert {"blocked", "right"} == set(words)


@pytest.mark.postgres
def test_skip_locked_alone_is_no_sql():
    """PostgreSQL calls it a syntax error."""
    trace = shown(claims.skip_without_lock, "1x9.2x9", "postgres")
    assert 'syntax error at or near "SKIP"' in trace.broken


@pytest.mark.parametrize("claim", [c for c in TWO if c not in (claims.with_a_lease, claims.skip_without_lock)])
def test_without_a_lease_a_dead_worker_keeps_its_task(claim):
    """It is lost at one place, right after the commit that took it; everywhere else the next worker gets it."""
    runs = at_every_place(claim)
    assert ["right"] * (len(runs) - 1) + ["lost"] == [word for _, word in runs]


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_with_a_lease_nothing_is_lost(database):
    """Wherever the worker dies, the next one gets what it held."""
    assert {"right"} == {word for _, word in at_every_place(claims.with_a_lease, database)}


def test_the_crash_of_the_lesson():
    """The next worker comes an hour later, gets `blog` and goes home; with a lease it gets `shop` first."""
    lost = run_once(dies(claims.no_lease), "p1@3.after+crash", "sqlite")
    kept = run_once(dies(claims.with_a_lease), "p1@3.after+crash", "sqlite")
    assert ["", "returned ['blog']"] == told(lost)
    assert ["", "returned ['shop', 'blog']"] == told(kept)
    assert ("shop is running, says its row, and nobody is at it", None) == (lost.broken, kept.broken)


@pytest.mark.postgres
def test_the_table_says_what_the_runs_say():
    """A cell is the worst word and how many of all runs end with it; a column appears when its fault was tried."""
    grid = Grid("x").run(claims.limit_inside_in, claims.in_a_driver_transaction)
    words = [[str(cell) for cell in row] for row in grid._table().rows]
    assert ["SQLite, two at once", "PostgreSQL, two at once"] == list(grid._table().headers[1:])
    runs = in_every_order(claims.limit_inside_in)
    assert f"✓ right {len(runs)}/{len(runs)}" == words[0][1]
    runs = in_every_order(claims.limit_inside_in, "postgres")
    assert f"✕ lost {len(runs)}/{len(runs)}" == words[0][2]
    assert "? SQLite only" == words[1][2]
    places = at_every_place(claims.in_a_driver_transaction)
    words = [[str(cell) for cell in row] for row in grid.run(fault=CRASH)._table().rows]
    assert f"✕ lost 1/{len(places)}" == words[1][3]
    assert 5 == len(words[0])


def test_without_postgres_the_rest_runs(monkeypatch):
    """Its column says why it is empty."""
    monkeypatch.setattr(claim_grid, "postgres_is_here", lambda: False)
    (row,) = Grid().run(claims.no_lease)._table().rows
    assert ["✓", "? no PostgreSQL"] == [str(row[1])[0], str(row[2])]


def test_the_right_statement_in_both_dialects():
    """Lock and skip on PostgreSQL, in a CTE that is computed once; neither word on SQLite."""
    postgres, sqlite = (claims.sql_of_one_act(dialect) for dialect in ("postgresql", "sqlite"))
    assert "MATERIALIZED" in postgres
    assert "FOR UPDATE SKIP LOCKED" in postgres
    assert "MATERIALIZED" not in sqlite
    assert "SKIP LOCKED" not in sqlite
