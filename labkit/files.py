"""The file port: the few calls through which labkit touches a disk, so that each can be watched, failed or cut short.

`replace` is atomic: whoever opens the path sees the old bytes or the new ones. `write` is not: a crash inside it
leaves a part, and without `fsync` even a finished write can be lost with the machine. Nothing is buffered in the
process, so a killed process leaves exactly what its finished calls wrote. `lock` keeps out other threads and other
processes, and dies with its holder.

Not handled here: what the bytes mean and whether they are whole (see `store.json_file`); file systems without locks
(some network ones); turns at the lock: who takes it again at once, again and again, can keep the others out.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from labkit.clock import Clock
from labkit.errors import StoreBusy

FIRST_LOCK_POLL, LAST_LOCK_POLL = 0.01, 0.05  # seconds between two tries, doubled from the first to the last
# subtle: a long last pause would starve those who wait longest, since they look least often


class Files(Protocol):
    """What a store asks of a disk. Errors are the usual `OSError`s."""

    def read(self, path: Path) -> bytes | None:
        """All bytes, or None when there is no such file."""

    def exists(self, path: Path) -> bool: ...

    def write(self, path: Path, data: bytes) -> None:
        """Create or truncate, then write. A crash here leaves any prefix of `data`."""

    def fsync(self, path: Path) -> None:
        """Return when the file (or the folder's entries) would survive a power cut."""

    def replace(self, src: Path, dst: Path) -> None:
        """Atomically give `src` the name `dst`."""

    def remove(self, path: Path) -> None:
        """Remove the file; one that is not there is fine."""

    def lock(self, path: Path, clock: Clock, timeout: float) -> AbstractContextManager[None]:
        """Hold the lock file `path`, waiting at most `timeout` seconds; then `StoreBusy`."""


class DiskFiles:
    """The machine's disk."""

    def read(self, path: Path) -> bytes | None:
        try:
            descriptor = _open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            parts = []
            while part := os.read(descriptor, 1 << 20):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def write(self, path: Path, data: bytes) -> None:
        descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)

    def fsync(self, path: Path) -> None:
        folder = os.path.isdir(path)
        if folder and sys.platform == "win32":
            return  # Windows cannot sync a folder and needs not
        descriptor = _open(path, os.O_RDONLY if folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, src: Path, dst: Path) -> None:
        try:
            os.replace(src, dst)
        except PermissionError as error:
            if sys.platform == "win32":  # subtle: Windows refuses while another process has the old file open
                raise StoreBusy(f"{dst} is open in another process") from error
            raise

    def remove(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)

    @contextmanager
    def lock(self, path: Path, clock: Clock, timeout: float) -> Iterator[None]:
        give_up, pause = clock.monotonic() + timeout, FIRST_LOCK_POLL
        descriptor = _open(path, os.O_RDWR | os.O_CREAT)
        try:
            while not _try_lock(descriptor):
                left = give_up - clock.monotonic()
                if left <= 0:
                    raise StoreBusy(f"{path} was locked by another for more than {timeout:g} s")
                clock.sleep(min(pause, left))
                pause = min(2 * pause, LAST_LOCK_POLL)
            yield
        finally:
            os.close(descriptor)  # subtle: closing gives the lock back, and so does the death of the process

    def __repr__(self) -> str:
        return "<DiskFiles>"


def _open(path: Path, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o666)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLOCK):
                return False
            raise
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
