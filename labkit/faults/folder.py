"""A folder for a world, on the disk in memory where there is one, that is not left there for ever.

Whoever makes it removes it. A job that was killed cannot: so the name of a folder says which process made it, and the next process that makes
one removes what dead processes left, once.

Not handled here: what lies in it (see `world`); Windows, where a process cannot be asked so simply whether it lives, and where what is left stays.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from os import getpid  # subtle: by this name it stays what it is, whatever number an answer is told
from pathlib import Path

FAST_DISK = Path("/dev/shm")  # a disk in memory, where there is one
_NAME = re.compile(r"labkit-world-(\d+)-\w+")


def new_folder(disk: Path | None = None) -> Path:
    """A new empty folder on `disk`, by default on the fastest there is. Whoever made it removes it."""
    disk = disk or (FAST_DISK if FAST_DISK.is_dir() and os.access(FAST_DISK, os.W_OK) else Path(tempfile.gettempdir()))
    _tidy(disk, getpid())
    return Path(tempfile.mkdtemp(prefix=f"labkit-world-{getpid()}-", dir=disk))


@contextmanager
def own_folder() -> Iterator[Path]:
    """A new empty folder, removed afterwards."""
    made = new_folder()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@lru_cache(maxsize=1)
def _tidy(disk: Path, here: int) -> None:
    """Remove what dead processes left on this disk. `here` is this process: a forked child looks for itself."""
    for folder in disk.glob("labkit-world-*"):
        made = _NAME.fullmatch(folder.name)
        if made and not _lives(int(made[1])):
            shutil.rmtree(folder, ignore_errors=True)  # another user's stays


def _lives(process: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's, or no process number at all
        return True
    return True
