"""What a world shows when everything has ended, gathered into an `End`.

Not handled here: whether that is good (see `scenario`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.clock import STORY_BEGINS
from labkit.database import parse_time
from labkit.errors import StoreCorrupt
from labkit.faults.database_world import Rows
from labkit.faults.outcome import plain
from labkit.faults.scenario import Call, End, Scenario
from labkit.faults.schedule import Token
from labkit.faults.world import World
from labkit.files import DiskFiles
from labkit.store import JsonFileStore
from labkit.task import TaskState

if TYPE_CHECKING:
    from labkit.faults.runner import Generation


def end_of(world: World, scenario: Scenario, token: Token, generations: Sequence[Generation]) -> End:
    """What the world shows now, after late requests have arrived."""
    world.deliver()
    rows = plain_rows(world.rows())
    stored = rows.pop("tasks", [])
    struck = {i for g in generations for i in g.struck}
    moved = [(i, there) for g in generations for i, there in g.moved]
    met = struck | {i for i, _ in moved}
    return End(
        token=str(token),
        outcomes=tuple(outcome for g in generations for outcome in g.outcomes),
        effects=tuple(world.ledger.entries()),
        tasks=_in_the_file(world) if scenario.store == "json" else {row["id"]: row for row in stored},
        files={name: content.decode("utf-8", "backslashreplace") for name, content in world.files().items()},
        rows=rows,
        calls=tuple(call for g in generations for call in _calls(g)),
        seconds=world.clock.elapsed,
        unreached=tuple(str(i) for i in token.schedule.injections if i not in met),
        moved=tuple(f"{i}: {there}" for i, there in moved),
        deadlock="; ".join(g.deadlock for g in generations if g.deadlock),
        notes=tuple(note for g in generations for note in _notes(g)),
    )


def _calls(generation: Generation) -> list[Call]:
    """All calls but SQL."""
    return [
        Call(process, boundary, label, time, fault)
        for kind, process, time, _, side, boundary, label, fault, _ in generation.record
        if kind == "cross" and side == "before" and boundary != "sql"
    ]


def _notes(generation: Generation) -> list[Call]:
    """What the processes told the record."""
    return [
        Call(process, "note", label, time, text)
        for kind, process, time, _, _, _, label, _, text in generation.record
        if kind == "note"
    ]


class _LookingFiles(DiskFiles):
    """A disk on which a look leaves no trace: a store keeps damaged bytes aside, and an end must not."""

    def write(self, path: Path, data: bytes) -> None:
        return None


def _in_the_file(world: World) -> dict[str, dict[str, Any]]:
    """The tasks of a JSON store; a damaged file holds none, and is seen in `files`."""
    store = JsonFileStore(world.files_folder / "tasks.json", world.clock, files=_LookingFiles())
    try:
        return {task.id: plain(task) for state in TaskState for task in store.list_by_state(state)}
    except StoreCorrupt:
        return {}


def plain_rows(rows: Rows) -> Rows:
    """Rows as plain data, the same for both databases: times as ISO text in UTC; a table without rows is left out."""
    return {
        name: [{column: _plain_value(column, value) for column, value in row.items()} for row in found]
        for name, found in rows.items()
        if found
    }


def _plain_value(column: str, value: Any) -> Any:
    if value is None or not column.endswith("_at"):
        return plain(value)
    try:
        return parse_time(value).astimezone(STORY_BEGINS.tzinfo).isoformat()
    except (AttributeError, TypeError, ValueError):  # a column of somebody else's that only sounds like a time
        return plain(value)
