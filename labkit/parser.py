"""How the command line is read: what an argument may be, and one line that says what is wrong with it.

Not handled here: the commands (see `cli`).
"""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from labkit.errors import UsageError

MOST_WORKERS = 256  # each has two threads and up to three connections


class Help(argparse.HelpFormatter):
    """Wraps all but what ends in an example: what is to be copied stands on lines of its own, as it is typed."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "example:\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line and ends with 2; options may stand anywhere, and none may be shortened, since scripts outlive shortcuts."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, formatter_class=partial(Help, max_help_position=30))
        self._mixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Options and the rest in any order. subtle: the intermixed form calls this method again, and a parser of commands cannot use it."""
        if self._mixed or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._mixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixed = False

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{' '.join(message.split())} (see {self.prog} --help)")


def count(text: str) -> int:
    """A whole number that is not negative and has no more than nine digits."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    if text.startswith("-"):
        raise argparse.ArgumentTypeError(f"{_short(text)} is negative")
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"{_short(text)} is too large")
    return int(text)


def port(text: str) -> int:
    """A number that a server can listen at."""
    number = count(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is no port: there are 1 to 65535")
    return number


def free_port(text: str) -> int:
    """The same, or 0 for any that is free."""
    return 0 if count(text) == 0 else port(text)


def threads(text: str) -> int:
    """A number of workers that one process can have."""
    number = count(text)
    if not 1 <= number <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{number} is too {'many' if number else 'few'}: a process has at least one worker and at most {MOST_WORKERS}")
    return number


def jobs(text: str) -> int:
    """How much is done at once: at least one."""
    number = count(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 is too few: leave it out for one per processor")
    return number


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:27]}..."


def counts(text: str) -> list[int]:
    """Several whole numbers, separated by commas."""
    return [count(part) for part in text.split(",")]


def seconds(text: str) -> float:
    """A length of time that is not negative."""
    try:
        length = float(text)
    except ValueError:
        length = -1.0
    if not 0 <= length < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return length


def folder(text: str) -> Path:
    """A path that a file system can take."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no path")
    return Path(text)
