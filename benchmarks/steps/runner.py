"""What each peer's script is run as: `URL`. It says when it is ready, then for each line with a count runs so many steps and says the seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter


def play(prepare: Callable[[str], Callable[[str, int], object]]) -> None:
    """`prepare(url)` is not counted; it returns `run(name, steps)`, with another name each time."""
    run = prepare(sys.argv[1])
    print("ready", flush=True)
    for number, line in enumerate(sys.stdin):
        began = perf_counter()
        run(f"run-{number}", int(line))
        print(perf_counter() - began, flush=True)
