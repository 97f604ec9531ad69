"""Real processes in the box, in a world that is held out here: they are killed from outside, and where it is an effect, the moment it has happened.

Not handled here: which case and which crossing (see `witness`), and holding the ledger and the clock (see `faults.held`).
"""

from __future__ import annotations

from threading import Event
from typing import Any

from labkit.checks.kill import AnswerKiller, Hurry, Said
from labkit.checks.listening import FORGED
from labkit.classroom.walls import Walls
from labkit.cloud import CHANGES
from labkit.faults.child import SIGKILL, Child
from labkit.faults.held import Holder
from labkit.faults.kill import told
from labkit.faults.outcome import Outcome
from labkit.faults.runner import Generation, Runner
from labkit.faults.schedule import Injection

ODD = (ValueError, TypeError, AttributeError, LookupError)  # from words of another shape


class HeldKiller(AnswerKiller):
    """Runs the processes of one case in the box, in a world that is held here. `kill_at` is the effect of the first process that kills it."""

    def __init__(self, runner: Runner, walls: Walls, holder: Holder, hurry: Hurry, **job: Any) -> None:
        super().__init__(runner, walls.nursery, hurry, **job)
        self._walls, self.holder = walls, holder
        self.with_database = True
        self.of_the_scene = 0  # effects that were there before it ran
        self.kill_at: int | None = None
        self._there, self._child, self._last = Event(), list[Child](), list[dict[str, Any]]()

    def where(self) -> dict[str, Any]:
        world = self.world
        url = world.database.url if self.with_database else ""
        return {"kind": world.kind, "folder": str(world.folder), "url": url, "held": str(self.holder.path)}

    def generation(self, number: int, faults: tuple[Injection, ...] = (), *, body: int | None = 0) -> Generation:
        self._there.clear()
        self._last.clear()
        self._child.clear()
        self.holder.expect(f"p{number}", self.kill_at if number == 1 else None, self._strike)
        self._walls.own(*self.world.folder.glob("world.sqlite*"), *self.world.files_folder.rglob("*"), self.world.files_folder)
        return super().generation(number, faults, body=body)

    def effects(self) -> int:
        """How many things have happened in the cloud."""
        return sum(effect.name in CHANGES for effect in self.world.ledger.entries())

    def _strike(self, said: dict[str, Any]) -> None:
        """The effect has happened: nobody in that process comes to hear of it."""
        self._there.wait()
        self._last.append(said)
        self._child[0].kill()

    def listen(self, child: Child, number: int) -> Generation:
        self._child.append(child)
        self._there.set()
        try:
            return super().listen(child, number)
        except Said:
            if not self._last or child.exit_status != -SIGKILL:
                raise
        try:
            return told(self._last[0], Outcome(f"p{number}", "crashed"))
        except ODD:
            raise Said(word={"broke": FORGED}) from None
