"""The record of a run while it is being written: plain tuples, cheap to make, that become lines at the end.

A sweep makes thousands of runs and shows one of them, so a run keeps tuples in the order of the fields of `trace.Line` and only what somebody looks at
is made into lines.

Not handled here: what a line means (see `trace`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from labkit.faults.trace import UUID, Line

# kind, process, time, number, side, boundary, label, fault, text
Record = tuple[str, str, float, int, str, str, str, str, str]


def lines_of(records: Iterable[Record]) -> list[Line]:
    """The records as lines, random ids and all."""
    return [Line(*record) for record in records]


def renamed(records: Iterable[Record]) -> Iterator[Line]:
    """The records as lines in which random ids are called id-1, id-2, ... by first appearance, the same in every replay."""
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"id-{len(names) + 1}")

    for kind, process, time, number, side, boundary, label, fault, text in records:
        yield Line(kind, process, time, number, side, boundary, UUID.sub(name, label), fault, UUID.sub(name, text))
