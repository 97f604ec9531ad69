"""What foreign code gets to see of the disk: Python, its libraries, the system's own programs, and nothing else.

What is not listed is not there: homes, the folder with the submissions, the report, the tests and the masters of a checkout. Of a checkout a program
that needs labkit is shown the package alone, and a course's own checks; a warm parent has loaded all of labkit already, and its children are shown none of it.

Not handled here: showing it (see `namespaces`), and what a process has in memory.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import labkit
from labkit.material import own_exercises

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/localtime", "/etc/fonts")
INSTALLED = ("site-packages", "dist-packages")


def shown(*, with_labkit: bool) -> list[str]:
    """Everything that Python needs here, as absolute paths."""
    folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    folders += [path for path in map(os.path.abspath, filter(None, sys.path)) if path.endswith(INSTALLED)]
    found = [*SYSTEM, *(real for path in folders for real in {path, os.path.realpath(path)})]
    if with_labkit:
        found += [str(_package()), *own_exercises().values()]
    return sorted({path for path in found if os.path.exists(path) and path != "/"})


def hidden(private: tuple[Path, ...], *, with_labkit: bool) -> list[str]:
    """What must not be seen even where it lies within what is shown."""
    found = [str(path.resolve()) for path in private]
    return found if with_labkit else [*found, str(_package())]


def _package() -> Path:
    return Path(labkit.__file__).resolve().parent
