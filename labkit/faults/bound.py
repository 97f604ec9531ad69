"""What the gated connections of all databases share: one belongs to the process that opened it, and dies with it.

Not handled here: what a death does to the connection of one driver (see `sql_gate`, `postgres_gate`).
"""

from __future__ import annotations

from labkit.faults.fault import Crash
from labkit.faults.gate import Gate
from labkit.faults.stage import LockWait


class Bound:
    """A connection that is bound to a gate once it is prepared; `dead` when its process is."""

    gate: Gate | None = None
    locks: LockWait = LockWait()
    dead = False
    beaten = False  # a lock was refused in this transaction: its end frees nobody

    def arm(self, gate: Gate, locks: LockWait) -> None:
        """From now on this connection is the process's own."""
        self.gate, self.locks = gate, locks
        gate.at_death.append(self.die)
        if gate.dead:  # a process that died while it connected
            self.die()

    def ended(self) -> None:
        """Its transaction ended: tell whoever waits, unless it held no lock itself."""
        beaten, self.beaten = self.beaten, False
        if not beaten:
            self.locks.ended()

    def check_alive(self) -> None:
        if self.dead:
            raise Crash("its process is dead")

    def die(self) -> None:
        """Its process is gone: free what it holds on the server. Twice is fine."""
        raise NotImplementedError
