"""The table *claim query x database x fault*: it begins empty; each run of a claim adds its row, and says what became of it.

Where there is no PostgreSQL its columns say so, and everything else runs.

Not handled here: the runs, and what the words mean (see `claim_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from labkit.faults import open_world
from labkit.faults.chart_table import Mark, Table, bad, good, table, unknown
from labkit.faults.world import World
from labkit.lessons import claims
from labkit.lessons.claim_runs import DATABASES, RIGHT, WORDS, Claim, Runs, every_order, every_place
from labkit.lessons.store_grid import postgres_is_here

NAMES: dict[Claim, str] = {
    claims.select_then_update: "SELECT, UPDATE",
    claims.in_a_driver_transaction: "one transaction, by the driver",
    claims.in_one_transaction: "one transaction, BEGIN",
    claims.write_lock_first: "one transaction, BEGIN IMMEDIATE",
    claims.update_by_id: "UPDATE by id",
    claims.update_if_pending: "UPDATE by id, if pending",
    claims.lock_without_skip: "FOR UPDATE alone",
    claims.skip_without_lock: "SKIP LOCKED alone",
    claims.lock_given_back: "both, lock given back",
    claims.limit_inside_in: "IN (SELECT ... LIMIT 1)",
    claims.no_lease: "one act, no lease",
    claims.with_a_lease: "one act, a lease",
}
ONLY_SQLITE = (claims.in_a_driver_transaction,)
AT_ONCE, CRASH = "two at once", "crash"
FAULTS: dict[str, Callable[[Claim, World], Runs]] = {AT_ONCE: every_order, CRASH: every_place}


def mark(runs: Runs) -> Mark:
    """The worst word that a run ends with, and how many of all runs do."""
    found = [word for _, word in runs]
    worst = max(found, key=WORDS.index)
    return (good if worst == RIGHT else bad)(f"{worst} {found.count(worst)}/{len(found)}")


def column(claims_tried: Sequence[Claim], database: str, fault: str) -> list[Mark]:
    """A cell for each of these claims, under one fault on one database."""
    if database == "postgres" and not postgres_is_here():
        return [unknown("no PostgreSQL")] * len(claims_tried)
    cells = []
    with open_world(database) as world:
        empty = world.photograph()
        for claim in claims_tried:
            world.put_back(empty)
            here = database == "sqlite" or claim not in ONLY_SQLITE
            cells.append(mark(FAULTS[fault](claim, world)) if here else unknown("SQLite only"))
    return cells


@dataclass
class Grid:
    """The table. `run` adds rows, or fills further columns of those that are there."""

    caption: str = ""
    rows: list[Claim] = field(default_factory=list)
    cells: dict[tuple[Claim, str, str], Mark] = field(default_factory=dict)

    def run(self, *tried: Claim, fault: str = AT_ONCE) -> Grid:
        """Run these claims under this fault on every database; without a claim, all that have a row."""
        self.rows += [claim for claim in tried if claim not in self.rows]
        chosen = tried or tuple(self.rows)
        for database in DATABASES.values():
            for claim, found in zip(chosen, column(chosen, database, fault), strict=True):
                self.cells[claim, database, fault] = found
        return self

    def _table(self) -> Table:
        tried = [fault for fault in FAULTS if any(fault == done for _, _, done in self.cells)]
        columns = [(fault, name) for fault in tried for name in DATABASES]
        empty = unknown("not tried")
        rows = [
            [NAMES[claim], *(self.cells.get((claim, DATABASES[name], fault), empty) for fault, name in columns)]
            for claim in self.rows
        ]
        return table(["", *(f"{name}, {fault}" for fault, name in columns)], rows, self.caption)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()
