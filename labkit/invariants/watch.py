"""From the crossings of a run to the events of its domain: whatever becomes durable in a crossing is noted there.

A watched process is looked over the shoulder at each commit and each call to the cloud: the rows of the tables and the ledger are compared with what
they were before. So an event is there because the world shows it, whatever the program says, also where the process died before anybody was told.
One thing leaves no trace in the world and is told by the process: a write that was refused.

Not handled here: engines that begin in the middle of a run, and actors that change places within a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from labkit.faults.database_world import Rows
from labkit.faults.process import Process
from labkit.faults.scenario import Body
from labkit.invariants.events import TraceEvent, to_text
from labkit.task import TaskState

Claim = tuple[str, int]  # (worker, attempt)
NOBODY: Claim = ("", 0)
UNCHANGED = ("state", "attempt", "version")


@dataclass
class Known:
    """What the world showed at the last look."""

    tasks: dict[str, dict[str, Any]]
    told: int  # lines of the progress log
    steps: set[tuple[str, int]]  # entries of saga logs
    effects: int


@dataclass
class Watch:
    """Watches the processes of a run; those that run at the same time share what is known."""

    _record: object = None
    _known: Known = field(default_factory=lambda: Known({}, 0, set(), 0))

    def over(self, body: Body) -> Body:
        """The same body, watched."""

        def watched(process: Process) -> Any:
            if process.gate.record is not self._record:  # a generation begins
                self._record, self._known = process.gate.record, _now(process)
            Shoulder(process, self._known).attach()
            return body(process)

        return watched


def _now(process: Process) -> Known:
    rows = process.world.rows()
    steps = {(row["saga_id"], row["seq"]) for row in rows.get("saga_log", ())}
    return Known(
        {row["id"]: row for row in rows.get("tasks", ())}, len(rows.get("progress_log", ())), steps, len(process.world.ledger.entries())
    )


class Shoulder:
    """What one process does to the world. `_claims` are those that it made: who writes under which claim is seen by who claimed, not by what a row says."""

    def __init__(self, process: Process, known: Known) -> None:
        self._process, self._known = process, known
        self._claims: dict[str, Claim] = {}
        self._task = ""  # that it claimed last

    def attach(self) -> None:
        """Look in each crossing that can change the world, as soon as it has: the process may not survive the way back, or be late."""
        gate: Any = self._process.gate
        cross: Callable[..., Any] = gate.cross

        def looking(boundary: str, label: str, act: Callable[[], Any], **more: Any) -> Any:
            def looked_at() -> Any:
                try:
                    return act()
                finally:
                    self._look()

            return cross(boundary, label, looked_at if boundary == "cloud" or label == "COMMIT" else act, **more)

        gate.cross = looking

    def _look(self) -> None:
        rows = self._process.world.rows()
        for event in [*self._tasks(rows), *self._effects()]:
            tell(self._process, event)

    def _tasks(self, rows: Rows) -> Iterator[TraceEvent]:
        """In the order in which they are meant: a task ends, that is told, and then the next one is claimed."""
        before, after = self._known.tasks, {row["id"]: row for row in rows.get("tasks", ())}
        changed = [row for id, row in after.items() if any(row[name] != before.get(id, {}).get(name) for name in UNCHANGED)]
        self._known.tasks = after
        yield from (TraceEvent("submitted", row["id"]) for row in changed if row["id"] not in before)
        claimed = [row for row in changed if row["attempt"] > before.get(row["id"], row)["attempt"]]
        for row in changed:
            old = before.get(row["id"])
            if old is not None and row not in claimed and row["state"] != TaskState.RUNNING and old["state"] != TaskState.PENDING:
                yield TraceEvent("written", row["id"], *self._under(row["id"], old))
        yield from self._log(rows, after)
        for row in claimed:
            self._task, self._claims[row["id"]] = row["id"], (row["worker_id"], row["attempt"])
            yield TraceEvent("claimed", row["id"], *self._claims[row["id"]])

    def _log(self, rows: Rows, tasks: dict[str, dict[str, Any]]) -> Iterator[TraceEvent]:
        told = rows.get("progress_log", [])
        for row in told[self._known.told :]:
            yield TraceEvent("progress", row["task_id"], *self._under(row["task_id"], tasks.get(row["task_id"])), row["status"])
        self._known.told = len(told)
        for row in rows.get("saga_log", ()):
            entry = (row["saga_id"], row["seq"])
            if entry not in self._known.steps and row["event"] in ("done", "undone"):
                yield TraceEvent(row["event"], row["saga_id"], *self._under(row["saga_id"], None), row["step"])
            self._known.steps.add(entry)

    def _effects(self) -> Iterator[TraceEvent]:
        entries = self._process.world.ledger.entries()
        for effect in entries[self._known.effects :]:
            yield TraceEvent("effect", self._task, *self._under(self._task, None), effect.name, effect.key or "")
        self._known.effects = len(entries)

    def _under(self, task: str, row: dict[str, Any] | None) -> Claim:
        """The claim that this process has on a task; of one who has none (it cancels) the one that the row is under."""
        in_row: Claim = (row["worker_id"], row["attempt"]) if row and row["worker_id"] else NOBODY
        return self._claims.get(task, in_row)


def tell(process: Process, event: TraceEvent) -> None:
    """Note an event in the record of the run."""
    process.gate.tell("note", event.kind, to_text(event))
