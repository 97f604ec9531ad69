"""Leaves out what is far from any trouble, and says how much: every fault, start, end and first doubling stays.

Not handled here: runs of up to `LONG` calls, which are shown whole.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from labkit.faults.picture_story import Call, Column, Story

LONG = 40  # calls in a run that is still shown whole
NEAR = 3  # columns kept on each side of something that matters
SHORTEST = 4  # columns that are worth a fold


@dataclass(frozen=True)
class Fold:
    """Columns that are not shown one by one."""

    columns: tuple[Column, ...]

    @property
    def calls(self) -> Counter[str]:
        """How many calls of each process begin in here."""
        found: Counter[str] = Counter()
        for column in self.columns:
            found[column.process] += column.calls
        return +found

    @property
    def effects(self) -> str:
        """What the ledger got from them, in words."""
        seen = [column.effect for column in self.columns if column.effect]
        new, again = sum(not e.again for e in seen), sum(e.again for e in seen)
        parts = [f"{new} {'effect' if new == 1 else 'effects'}" if new else "", f"{again} again" if again else ""]
        return ", ".join(part for part in parts if part)


def fold(story: Story) -> list[Column | Fold]:
    """The columns of the story, dull stretches of a long one replaced by a `Fold`."""
    if story.calls <= LONG:
        return list(story.columns)
    kept = _kept(story.columns)
    items: list[Column | Fold] = []
    dull: list[Column] = []
    for index, column in enumerate([*story.columns, None]):
        if column is not None and index not in kept:
            dull.append(column)
            continue
        items += [Fold(tuple(dull))] if len(dull) >= SHORTEST else dull
        dull = []
        if column is not None:
            items.append(column)
    return items


def _kept(columns: list[Column]) -> set[int]:
    last = len(columns) - 1
    centres = [0, last, *(index for index, column in enumerate(columns) if _matters(column))]
    kept = {index for centre in centres for index in range(max(0, centre - NEAR), min(last, centre + NEAR) + 1)}
    spans: dict[Call, list[int]] = {}
    for index, column in enumerate(columns):
        if column.call is not None:
            spans.setdefault(column.call, []).append(index)
    for places in spans.values():
        # subtle: half a call would look like one that never came back, so both ends stay or neither does
        if kept & set(places):
            kept |= {places[0], places[-1]}
    return kept


def _matters(column: Column) -> bool:
    doubled = column.effect is not None and not column.effect.again and column.effect.count == 2
    return bool(column.starts or column.end or column.note or column.faults or column.lost or doubled)
