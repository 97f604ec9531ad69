"""A server that lets so many connections be open has a file descriptor for each of them, or does not start.

The soft limit of this process is raised as far as is needed, and never lowered. What the hard limit cannot hold is refused in one line: without descriptors a
server can neither take a connection nor say 503. Where the platform has no such limit nothing is done.

Not handled here: how many may be open (see `room`), and the limit of all processes together.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from labkit.errors import UsageError


def have(needed: int, *, spare: int) -> None:
    """Be able to open `needed` connections beside `spare` other files; `UsageError` if this process may not."""
    try:
        import resource
    except ImportError:
        return
    raise_limit(resource, needed, spare)


def raise_limit(resource: Any, needed: int, spare: int) -> None:
    """The same, on this platform's limits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless, all_in_all = resource.RLIM_INFINITY, needed + spare
    if soft == endless or soft >= all_in_all:
        return
    if hard != endless and hard < all_in_all:
        fits = max(0, hard - spare)
        raise UsageError(f"--max-open {needed} needs {all_in_all} open files, and this process may have {hard}: raise `ulimit -Hn`, or take at most {fits}")
    with suppress(ValueError, OSError):  # macOS: the hard limit is endless, and the kernel's own is not told
        resource.setrlimit(resource.RLIMIT_NOFILE, (all_in_all, hard))
