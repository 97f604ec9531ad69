"""The walls of one box: its rooms, its user, its server, and the warm parent that lives inside.

A room is a folder that belongs to whoever lives in the box and is gone after one job. In a stage the grader stands as well: there the box can change
nothing but what it was given. What a warm parent can see is settled when it goes in, so it starts anew when a server is asked for that it cannot see
yet.

Not handled here: which levels there are and which can be had (see `box`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labkit.checks import registry
from labkit.checks.run import NURSERY
from labkit.classroom import rights, visible
from labkit.classroom.box_server import BoxServer, NotReached
from labkit.classroom.namespaces import View
from labkit.errors import UsageError
from labkit.faults.folder import new_folder
from labkit.faults.nursery import CAN_FORK, Nursery, module_path

LEVELS = ("process", "user", "namespace")
PROCESS, USER, NAMESPACE = LEVELS
PROGRAM = "import sys; sys.path[:] = {path!r}; from labkit.classroom.entrance import main; sys.exit(main(sys.argv[1:]))"


class IsolationUnavailable(UsageError):
    """This level of isolation cannot be had on this machine."""


@dataclass
class Walls:
    """One box: its rooms, its user, its warm parent."""

    level: str
    number: int
    private: tuple[Path, ...]
    base: Path = field(default_factory=new_folder)
    here: list[Path] = field(default_factory=list)  # the folders that are in use

    def __post_init__(self) -> None:
        os.chmod(self.base, 0o711)
        for name in ("root", "rooms"):
            (self.base / name).mkdir(mode=0o711)
        self.user = rights.FIRST_USER + (os.getpid() * 16 + self.number) % rights.USERS if self.level != PROCESS and os.getuid() == 0 else None
        self.server = BoxServer(self.user, closed=self.level == NAMESPACE)
        self.nursery = Nursery(_preload() if CAN_FORK else (), sealed=True, room=self.room)
        self._set_entrance()

    def _set_entrance(self) -> None:
        if CAN_FORK:
            view = self._view(with_labkit=False)
            self.nursery.entrance = ("labkit.classroom.entrance:enter", {"view": asdict(view) if view else None, "user": self.user})

    def _view(self, *, with_labkit: bool, rooms: Path | None = None) -> View | None:
        if self.level != NAMESPACE:
            return None
        shown = [*visible.shown(with_labkit=with_labkit), *self.server.sockets]
        hidden = visible.hidden(self.private, with_labkit=with_labkit)
        return View(str(self.base / "root"), shown, hidden, str(rooms or self.base / "rooms"), with_labkit)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A clean folder for one job, gone afterwards."""
        made = new_folder(self.base / "rooms")
        self.own(made)
        self.here.append(made)
        try:
            yield made
        finally:
            self.here.remove(made)
            shutil.rmtree(made, ignore_errors=True)

    def own(self, *paths: Path) -> None:
        """Give these to whoever lives in the box."""
        if self.user is not None:
            for path in paths:
                os.chown(path, self.user, self.user, follow_symlinks=False)

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """A folder in which whoever lives in the box can change nothing but what it is given."""
        made = new_folder(self.base / "rooms")
        os.chmod(made, 0o711)
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    @contextmanager
    def room(self, database: str) -> Iterator[tuple[str, Path]]:
        """Where the worlds of one job are: a folder, and for postgres a database of its own."""
        if database == "postgres" and not self.server.reached:
            self.nursery.close()  # subtle: what a parent can see is settled when it goes in
            try:
                self.server.reach(self.base)
            except NotReached as error:
                raise IsolationUnavailable(f"with isolation {self.level} {error}") from None
            self._set_entrance()
        with self.folder() as folder:
            if database != "postgres":
                yield "", folder
                return
            with self.server.database() as url:
                yield url, folder

    def how(self) -> dict[str, Any]:
        """How one goes in, into the folder that was asked for last (see `entrance.go_in`)."""
        folder = self.here[-1] if self.here else self.base / "rooms"
        view = self._view(with_labkit=True, rooms=folder)
        return {"view": asdict(view) if view else None, "user": self.user, "folder": str(folder)}

    def wrap(self, command: Sequence[str]) -> list[str]:
        """The command that runs this one in the box, in the folder that was asked for last."""
        program = PROGRAM.format(path=module_path())
        return [sys.executable, "-I", "-S", "-c", program, json.dumps(self.how()), *command]

    def probe(self) -> str:
        """Go in and come out again; returns why that fails."""
        done = subprocess.run(self.wrap([sys.executable, "-I", "-S", "-c", ""]), capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]

    def __enter__(self) -> Walls:
        return self

    def __exit__(self, *error: object) -> None:
        self.nursery.close()
        self.server.close()
        shutil.rmtree(self.base, ignore_errors=True)


def _preload() -> list[str]:
    more = [exercise.preload for exercise in registry.every() if exercise.preload]
    return list(dict.fromkeys([*NURSERY.preload, *more]))
