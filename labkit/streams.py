"""The standard streams, made so that no command dies of where its words go.

A stream that lacks a character shows another sign, a closed one takes everything, and a pipe whose reader has gone is let go of quietly.

Not handled here: what is written (see `cli`).
"""

from __future__ import annotations

import os
import sys
from typing import Any


def ready_streams() -> None:
    """Make streams that are there and take every character: no command dies of where its words go.

    subtle: a standard descriptor that is closed would be given to the next file that is opened, and then be written to.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
        elif hasattr(stream, "reconfigure"):
            unicode = str(stream.encoding).lower().replace("-", "").startswith("utf")
            stream.reconfigure(errors="backslashreplace" if unicode else "replace")  # a picture keeps its columns


def let_go_of_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain about the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
