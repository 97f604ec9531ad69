"""The table *store x trouble*: it begins empty, and each run of a trouble fills a column with what every store made of it.

Where there is no PostgreSQL its row says so, and everything else runs.

Not handled here: the troubles themselves (see `stores`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from labkit.errors import PostgresUnavailable
from labkit.faults import open_world
from labkit.faults.chart_table import Mark, Table, bad, good, table, unknown
from labkit.lessons.stores import ODD, Shelf, crash, keeps, lock_held, odd_value, torn_write, two_writers

TROUBLES: dict[str, Callable[[Shelf], Mark]] = {
    "crash": crash,
    "torn write": torn_write,
    "two writers": two_writers,
    "odd value": odd_value,
    "lock held": lock_held,
}


@cache
def postgres_is_here() -> bool:
    """Whether there is a PostgreSQL, from the wheel or from `LABKIT_DATABASE_URL`."""
    try:
        with open_world("postgres"):
            return True
    except PostgresUnavailable:
        return False


def present(shelves: tuple[Shelf, ...]) -> list[Shelf]:
    """The shelves whose database is here."""
    without = [shelf for shelf in shelves if shelf.database != "postgres"]
    return without if len(without) == len(shelves) or not postgres_is_here() else list(shelves)


@dataclass
class Grid:
    """The table *store x trouble*. It begins empty; `run` fills one column."""

    shelves: tuple[Shelf, ...]
    caption: str = ""
    cells: dict[tuple[str, str], Mark] = field(default_factory=dict)

    def run(self, *troubles: str) -> Grid:
        """Run these troubles on every store; without a name, all. Where PostgreSQL is missing its row says so."""
        here = present(self.shelves)
        for trouble in troubles or tuple(TROUBLES):
            for shelf in self.shelves:
                found = TROUBLES[trouble](shelf) if shelf in here else unknown("no PostgreSQL here")
                self.cells[shelf.name, trouble] = found
        return self

    def _table(self) -> Table:
        empty = unknown("not tried")
        rows = [[s.name, *(self.cells.get((s.name, trouble), empty) for trouble in TROUBLES)] for s in self.shelves]
        return table(["", *TROUBLES], rows, self.caption)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def odd_values(shelves: tuple[Shelf, ...]) -> Table:
    """Every odd value in every store."""
    rows = []
    for shelf in present(shelves):
        found = keeps(shelf).values()
        rows.append([shelf.name, *((good if what == "kept" or "refused" in what else bad)(what) for what in found)])
    return table(["result =", *ODD], rows)
