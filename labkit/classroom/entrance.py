"""How a process goes into a box: the warm parent with all its children to come, or one program.

A parent is put in after it has loaded what it needs, so that nothing of that has to be visible inside; each of its children gives up its rights
before it runs an answer. Nothing of the grader's environment comes along but where a course's own exercises are.

Not handled here: which box it is and what is in it (see `box`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.classroom import namespaces, rights
from labkit.material import own_exercises

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": ".", "TMPDIR": "."}  # home is wherever a job is: in its own folder


def enter(*, view: Mapping[str, Any] | None, user: int | None) -> Callable[[], None]:
    """In a warm parent: go in. Returns what each child does before its job. Without a view nothing is hidden."""
    set_environment({**ENVIRONMENT, **own_exercises()})
    # loaded before we go where nothing of labkit is to be seen
    from labkit.checks.hidden import hide
    from labkit.classroom import tampering

    hide()

    if view is not None:
        namespaces.move_in(namespaces.View(**view))
    tampering.watch()

    def settle() -> None:
        os.umask(0o077)
        if view is not None or user is not None:
            rights.give_up(user)
        if rights.known_machine():
            rights.settled()

    return settle


def set_environment(kept: Mapping[str, str]) -> None:
    """Let this process have these variables and no others."""
    os.environ.clear()
    os.environ.update(kept)


def run(command: Sequence[str], **how: Any) -> int:
    """Run a program in the box as `go_in` goes there; returns its exit status."""
    return go_in(lambda: os.execvpe(command[0], list(command), os.environ), **how)


def go_in(act: Callable[[], object], *, view: Mapping[str, Any] | None, user: int | None, folder: str) -> int:
    """Do something in the box, in its folder, in a process of its own; returns its exit status. Whoever kills this process ends all of it."""
    seen = namespaces.View(**view) if view is not None else None
    if seen is not None:
        namespaces.move_in(seen)
    child = os.fork()
    if child == 0:
        try:
            if seen is not None:
                namespaces.enter(seen)
            if seen is not None or user is not None:
                rights.give_up(user)
            _end_with_parent()
            os.chdir(folder)
            os.umask(0o077)
            act()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"the box could not be entered: {error}\n".encode())
        finally:
            os._exit(126)
    return _ended(child)


def _end_with_parent() -> None:
    """subtle: after the rights are given up, since that makes the system forget it."""
    if sys.platform == "linux":
        namespaces.call("prctl", namespaces.DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def _ended(child: int) -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    while True:
        with contextlib.suppress(InterruptedError):
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def main(arguments: Sequence[str]) -> int:
    """`how command ...`: `how` is JSON, the arguments of `go_in`."""
    return run(arguments[1:], **json.loads(arguments[0]))
