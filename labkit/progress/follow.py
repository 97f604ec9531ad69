"""Read what all tasks tell, in one order, and never go past an event that is still to come.

Positions are given out before a transaction commits, so on PostgreSQL a higher one can become visible first. A reader that
went on from the highest it has seen would never see the lower one. This one stops before a gap, notes who is writing to the
log at that time, and goes on when all of those have ended: what is still missing then was rolled back. Nobody is kept waiting
by it. On SQLite there is one writer at a time and no gap.

Not handled here: waiting for more (whoever reads decides when to read again), and a writer that leaves its transaction open:
behind a gap that it may fill, nothing is read.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, select, text

from labkit.database import reading
from labkit.progress.log import updates
from labkit.progress.update import ProgressUpdate
from labkit.tables import progress_log

# subtle: an INSERT locks the table before it takes a position, and lets go after its commit can be seen
_WRITERS = text(
    "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = 'progress_log'::regclass "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = 'RowExclusiveLock'"
)


BACK = 1_000  # positions before the newest one where an event may still become visible


def before(newest: int | None) -> int:
    """The position from which a reader misses nothing that becomes visible after `newest`, the highest one now."""
    return max(0, (newest or 0) - BACK)


class Follower:
    """Reads on from `position`: what it gave once it never gives again, and it leaves nothing out."""

    def __init__(self, engine: Engine, position: int = 0) -> None:
        self.position = position
        self._engine = engine
        self._numbered = engine.dialect.name == "postgresql"  # by a sequence, outside of transactions
        self._doubt: tuple[frozenset[str], int] | None = None  # (who was writing, the highest position seen before)

    def read(self, most: int = 100) -> list[tuple[int, ProgressUpdate]]:
        """The next events, up to `most`, each with its position; none if there are none yet that are sure."""
        log = progress_log.c
        chosen = select(progress_log).where(log.position > self.position).order_by(log.position).limit(most)
        with reading(self._engine) as connection:
            sure = self._sure_to(connection)  # subtle: asked first, so that the rows of whoever has ended are seen
            rows = connection.execute(chosen).all()
            given = []
            for row in rows:
                if self._numbered and row.position > max(sure, self.position) + 1:
                    self._doubt = self._doubt or (self._writers(connection), rows[-1].position)
                    break
                given.append(row)
                self.position = row.position
        return updates(given)

    def _sure_to(self, connection: Connection) -> int:
        """Up to where an empty position stays empty."""
        if self._doubt is None or self._doubt[0] & self._writers(connection):
            return 0
        _, highest = self._doubt
        self._doubt = None
        return highest

    def _writers(self, connection: Connection) -> frozenset[str]:
        return frozenset(connection.scalars(_WRITERS))

    def __repr__(self) -> str:
        return f"<Follower at {self.position}>"
