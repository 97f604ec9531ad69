"""The world: what outlives every process. It can be photographed, put back, and asked in which state it is.

A world has a virtual clock, the cloud's ledger, a folder of files, one database and the requests that are still on their way (`late`). A process that
dies loses its objects and nothing of this. The *state key* is the world's durable state in a form in which two states that mean the same are equal:
times are relative to now, random ids are renamed by first appearance, and counters of writes are dropped.

Not handled here: running anything in it (see `process`).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from labkit.clock import STORY_BEGINS, VirtualClock
from labkit.cloud import Effect, FileLedger, MemoryLedger
from labkit.faults.database_world import DatabaseWorld, Rows, open_database
from labkit.faults.trace import UUID

FAST_DISK = Path("/dev/shm")  # a disk in memory, where there is one
DROPPED = ("version", "updated_at")  # they count or date writes: two states that differ only here go on alike
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
# a checksum says again what the content says, and would tell apart what the dropped counters make equal
COUNTER = re.compile(r'"(?:version|updated_at)": *(?:\d+|"[^"]*")|\b[0-9a-f]{64}\b')


@dataclass(frozen=True)
class Photograph:
    """A durable state to which a world can be put back."""

    elapsed: float
    step: float
    ledger: tuple[Effect, ...]
    files: dict[str, bytes]
    database: Any
    late: tuple[tuple[float, Callable[[], object]], ...]


class World:
    """What outlives processes. `database` is memory, sqlite or postgres; `url` an empty PostgreSQL database of its own.

    `folder` None makes a temporary one, removed by `close`. `durable` keeps the ledger and the clock in files too, so that real processes share
    them; `attach` joins such a world from another process.
    """

    def __init__(self, database: str = "memory", *, folder: Path | None = None, url: str = "", durable: bool = False, attach: bool = False) -> None:
        self.kind, self.durable = database, durable
        self._own_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="labkit-world-", dir=FAST_DISK if FAST_DISK.is_dir() else None))
        self.files_folder = self.folder / "files"
        self.files_folder.mkdir(exist_ok=True)
        self.clock = VirtualClock()
        self.ledger = FileLedger(self.folder / "ledger.jsonl") if durable else MemoryLedger()
        self.late: list[tuple[float, Callable[[], object]]] = []
        if attach:
            self._read_clock()
        self._database: DatabaseWorld | None = None
        self._open = lambda: open_database(database, self.clock, self.folder, url=url, attach=attach)
        self.clock.moved = self._moved

    @property
    def database(self) -> DatabaseWorld:
        """The database, opened when it is first asked for."""
        if self._database is None:
            self._database = self._open()
        return self._database

    def _moved(self) -> None:
        if self.durable:
            self._write_clock()
        if self._database is not None:
            self._database.moved()
        self.deliver(self.clock.elapsed)

    def _write_clock(self) -> None:
        (self.folder / "clock.json").write_text(json.dumps([self.clock.elapsed, self.clock.step]))

    def _read_clock(self) -> None:
        kept = self.folder / "clock.json"
        if kept.exists():
            self.clock.elapsed, self.clock.step = json.loads(kept.read_text())

    def catch_up(self) -> None:
        """Read what other processes left of the clock."""
        self._read_clock()
        if self._database is not None:
            self._database.moved()

    def send_late(self, seconds: float, act: Callable[[], object]) -> None:
        """Let a request arrive `seconds` from now, whatever has become of its sender."""
        self.late.append((self.clock.elapsed + seconds, act))

    def deliver(self, until: float = float("inf")) -> None:
        """Let the late requests arrive that are due; what the far side refuses, nobody hears."""
        due = sorted((item for item in self.late if item[0] <= until), key=lambda item: item[0])
        self.late = [item for item in self.late if item[0] > until]
        for _, act in due:
            try:
                act()
            except Exception:  # the sender has long gone: an error has nowhere to go
                continue

    def files(self) -> dict[str, bytes]:
        """All files by their path below the world's folder of files; lock files are left out."""
        found = sorted(p for p in self.files_folder.rglob("*") if p.is_file() and p.suffix != ".lock")
        return {p.relative_to(self.files_folder).as_posix(): p.read_bytes() for p in found}

    def rows(self) -> Rows:
        return self._database.rows() if self._database is not None else {}

    def photograph(self) -> Photograph:
        database = self._database.photograph() if self._database is not None else None
        return Photograph(self.clock.elapsed, self.clock.step, tuple(self.ledger.entries()), self.files(), database, tuple(self.late))

    def put_back(self, photograph: Photograph) -> None:
        self.late = []
        self.clock.elapsed, self.clock.step = photograph.elapsed, photograph.step
        self.ledger.replace(photograph.ledger)
        self._put_files(photograph.files)
        if photograph.database is not None:
            self.database.put_back(photograph.database)
        self.late = list(photograph.late)
        self._moved()

    def _put_files(self, files: dict[str, bytes]) -> None:
        now = self.files()
        for name in now.keys() - files.keys():
            (self.files_folder / name).unlink()
        for name, content in files.items():
            if now.get(name) != content:
                path = self.files_folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def key(self) -> str:
        """The durable state as a short text: equal for states from which everything goes on alike."""
        now = self.clock.now()
        effects = [(e.name, e.target, e.key, e.changed) for e in self.ledger.entries()]
        state = {
            "rows": {name: [_kept(row) for row in rows] for name, rows in self.rows().items() if rows},
            # subtle: a third copy of one effect adds nothing that the second did not show, and would keep a broken program from ever closing
            "effects": sorted(f"{effect} x{min(times, 2)}" for effect, times in Counter(effects).items()),
            "order": [str(effect) for effect in dict.fromkeys(effects)],
            "files": {name: COUNTER.sub("", content.decode("utf-8", "backslashreplace")) for name, content in self.files().items()},
            "late": sorted(due - self.clock.elapsed for due, _ in self.late),
            "step": self.clock.step,
        }
        text = json.dumps(state, default=str, sort_keys=True)
        names: dict[str, str] = {}
        text = UUID.sub(lambda match: names.setdefault(match.group(), f"id-{len(names) + 1}"), text)
        text = INSTANT.sub(lambda match: _relative(match.group(), now), text)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        if self._own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<World {self.kind} +{self.clock.elapsed:g}s, {len(self.ledger.entries())} effects>"


def _kept(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in DROPPED}


def _relative(instant: str, now: datetime) -> str:
    """An instant as seconds from now: the same state a minute later is the same state.

    Of a past one only that it is past: an age that grows while a broken program is restarted again and again would never let its states close.
    """
    when = datetime.fromisoformat(instant)
    aware = when if when.tzinfo else when.replace(tzinfo=STORY_BEGINS.tzinfo)
    seconds = (aware - now).total_seconds()
    return f"{seconds:+g}s" if seconds > 0 else "past"


Invariant = Callable[[Any], "str | None"]
Invariants = Sequence[Invariant]
