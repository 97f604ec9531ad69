"""A run of `invariant`: what it is, whether it is broken and how, and the likely mistake of an answer that gets it wrong.

Not handled here: which runs there are (see `invariant_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from labkit.invariants.rules import RULES
from labkit.invariants.runs import ALL_STORIES, recorded
from labkit.invariants.trace import Trace


@dataclass(frozen=True)
class Row:
    """`breaks` is the kind of a broken run, "" for a fine one; `says` what it shows."""

    run: str
    says: str
    breaks: str
    why: str
    trace: Trace


class Rows(Sequence[Row]):
    """Rows that are made when somebody looks at them: other exercises need not wait for the record to be read."""

    def __init__(self, make: Callable[[], Iterable[Row]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> list[Row]:
        return list(self._make())

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        return self._made[place]

    def __len__(self) -> int:
        return len(self._made)


def fine(story: str, why: str) -> Row:
    """A run of the sound system."""
    return Row(f"sound.{story}", ALL_STORIES[story].says, "", why, recorded("sound", story))


def broken(run: str, kind: str, why: str) -> Row:
    """A run of a system that lacks something."""
    return edited(run, recorded(*run.split(".")), kind, why)


def edited(run: str, trace: Trace, kind: str, why: str) -> Row:
    return Row(run, RULES[kind](trace) or "", kind, why, trace)
