"""The world: what outlives every process. It can be photographed, put back, and asked in which state it is.

A world has a virtual clock, the cloud's ledger, a folder of files, one database and the requests that are still on their way (`late`). A process that
dies loses its objects and nothing of this. The *state key* is the world's durable state in a form in which two states that mean the same are equal:
times are relative to now, random ids are renamed by first appearance, and counters of writes are dropped.

Not handled here: running anything in it (see `process`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from labkit.clock import VirtualClock
from labkit.cloud import Effect, FileLedger, MemoryLedger
from labkit.faults.baton import Server
from labkit.faults.database_world import DatabaseWorld, Rows, check_kind, open_database
from labkit.faults.folder import new_folder
from labkit.faults.state_key import state_key

Late = tuple[float, Callable[[], object], str]  # (when, what happens then, what it is)


@dataclass(frozen=True)
class Photograph:
    """A durable state to which a world can be put back."""

    elapsed: float
    step: float
    ledger: tuple[Effect, ...]
    files: dict[str, bytes]
    database: Any
    late: tuple[Late, ...]


class World:
    """What outlives processes. `database` is memory, sqlite or postgres; `url` an empty PostgreSQL database of its own.

    `folder` None makes a temporary one, removed by `close`. `durable` keeps the ledger and the clock in files too, so that real processes share
    them; `attach` joins such a world from another process.
    """

    def __init__(
        self,
        database: str = "memory",
        *,
        folder: Path | None = None,
        url: str = "",
        durable: bool = False,
        attach: bool = False,
    ) -> None:
        self.kind, self.durable = check_kind(database), durable
        self._own_folder = folder is None
        self.folder = folder or new_folder()
        self.files_folder = self.folder / "files"
        self.files_folder.mkdir(exist_ok=True)
        self.clock = VirtualClock()
        self.ledger = FileLedger(self.folder / "ledger.jsonl") if durable else MemoryLedger()
        self.late: list[Late] = []
        self.locks: set[str] = set()  # the files that processes locked: empty, and no part of the state
        if attach:
            self._read_clock()
        self._database: DatabaseWorld | None = None
        self._unopened: Any = None  # the database as it was when it was opened
        self._url, self._attach = url, attach
        self.clock.moved = self._moved

    @property
    def database(self) -> DatabaseWorld:
        """The database, opened when it is first asked for."""
        if self._database is None:
            self._database = open_database(self.kind, self.clock, self.folder, url=self._url, attach=self._attach)
            if not self._attach:
                self._unopened = self._database.photograph()
        return self._database

    @property
    def server(self) -> Server | None:
        """The database, if it is one whose statements block inside it."""
        return cast("Server", self.database) if self.kind == "postgres" else None

    def _moved(self) -> None:
        if self.durable:
            self.write_clock()
        if self._database is not None:
            self._database.moved()
        self.deliver(self.clock.elapsed)

    def write_clock(self) -> None:
        """Let other processes know what the time is."""
        (self.folder / "clock.json").write_text(json.dumps([self.clock.elapsed, self.clock.step]))

    def _read_clock(self) -> None:
        kept = self.folder / "clock.json"
        if kept.exists():
            self.clock.elapsed, self.clock.step = json.loads(kept.read_text())

    def catch_up(self) -> None:
        """Read what other processes left of the clock, and let the database finish with the dead."""
        if self.durable:
            self._read_clock()
        if self.server is not None:
            self.server.settle()
        if self._database is not None:
            self._database.moved()

    def send_late(self, seconds: float, act: Callable[[], object], label: str = "") -> None:
        """Let a request arrive `seconds` from now, whatever has become of its sender."""
        self.late.append((self.clock.elapsed + seconds, act, label))

    def deliver(self, until: float = float("inf")) -> None:
        """Let the late requests arrive that are due; what the far side refuses, nobody hears."""
        due = sorted((item for item in self.late if item[0] <= until), key=lambda item: item[0])
        self.late = [item for item in self.late if item[0] > until]
        for _, act, _label in due:
            try:
                act()
            except Exception:  # the sender has long gone: an error has nowhere to go
                continue

    def note_lock(self, path: Path) -> None:
        """A process locks this file: as long as nobody writes into it, it is no part of the state."""
        if path.is_relative_to(self.files_folder):
            self.locks.add(path.relative_to(self.files_folder).as_posix())

    def files(self) -> dict[str, bytes]:
        """All files by their path below the world's folder of files; what serves only as a lock is left out."""
        found = sorted(_files_in(self.files_folder, ""))
        return {name: content for name, content in found if content or name not in self.locks}

    def rows(self) -> Rows:
        return self._database.rows() if self._database is not None else {}

    def photograph(self) -> Photograph:
        database = self._database.photograph() if self._database is not None else None
        return Photograph(
            self.clock.elapsed, self.clock.step, tuple(self.ledger.entries()), self.files(), database, tuple(self.late)
        )

    def put_back(self, photograph: Photograph) -> None:
        self.late = []
        self.clock.elapsed, self.clock.step = photograph.elapsed, photograph.step
        self.ledger.replace(photograph.ledger)
        self._put_files(photograph.files)
        if self._database is not None or photograph.database is not None:
            # subtle: a database that nobody had opened when the photograph was taken was empty then
            self.database.put_back(self._unopened if photograph.database is None else photograph.database)
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

    def key(self, *, exact: bool = False) -> str:
        """The durable state as a short text: equal for states from which everything goes on alike. `exact` drops nothing (see `state_key`)."""
        rows = self.rows()
        numbered = self._database.surrogates() if self._database is not None and not exact else {}
        late = [(due - self.clock.elapsed, label) for due, _, label in self.late]
        files = {name: content.decode("utf-8", "backslashreplace") for name, content in self.files().items()}
        return state_key(
            self.clock.now(), self.clock.step, self.ledger.entries(), files, late, rows, numbered, exact=exact
        )

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


def _files_in(folder: Path, above: str) -> Iterator[tuple[str, bytes]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = above + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files_in(Path(entry.path), name + "/")
            elif entry.is_file(follow_symlinks=False):
                yield name, Path(entry.path).read_bytes()
            elif entry.is_symlink():  # subtle: what it leads to is none of the world's, and may not be for everybody to read
                yield name, b"-> " + os.readlink(os.fsencode(entry.path))
