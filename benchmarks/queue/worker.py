"""What each peer's script is run as: `fill URL COUNT`, or `work URL NAME MOST`, which says when it is ready and waits for the word."""

from __future__ import annotations

import sys
from collections.abc import Callable


def play(
    fill: Callable[[str, int], None],
    work: Callable[[str, str, int], None],
    prepare: Callable[[str], None] = lambda url: None,
) -> None:
    """Do what the command line says. `prepare` is not counted."""
    act, url, *rest = sys.argv[1:]
    if act == "fill":
        fill(url, int(rest[0]))
        return
    prepare(url)
    print("ready", flush=True)
    sys.stdin.readline()
    work(url, rest[0], int(rest[1]))
    print("done", flush=True)
