"""The Friday evening as a picture: when the hotfix begins, how long each one waits, how many wait at each moment.

Not handled here: the evening itself (see `evening`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from labkit.clock import STORY_BEGINS
from labkit.faults.chart import BLOCKS, Histogram
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.paint import seconds
from labkit.lessons.evening import EVERY, HOTFIX, PATIENCE, Evening, evening

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR = 3600.0
LATE = HOUR  # seconds that a hotfix may wait before it is drawn as a trouble
TEXT = 96  # characters of a row in the text
SAMPLE = 600.0  # seconds between two looks at the length of the queue


@dataclass(frozen=True)
class Bars(Histogram):
    """Heights over the evening, all rows on one scale: `bar` says what one is, `said` what stands beside each row."""

    bar: str = ""
    said: tuple[str, ...] = ()

    def at(self, index: int) -> str:
        return on_the_clock(self.start + index * self.step)

    def hint(self, index: int, count: float) -> str:
        return f"{self.at(index)}: {count:g} {self.bar}"

    def peak(self, counts: Sequence[float]) -> str:
        return dict(zip((values for _, values in self.series), self.said, strict=True)).get(tuple(counts), "")

    def __repr__(self) -> str:
        rows = [self.title]
        for (label, values), said in zip(self.series, self.said, strict=True):
            every = -(-len(values) // TEXT)
            rows += [f"{label}: {said}", "  " + "".join(self._block(value) for value in values[::every]).rstrip()]
        return "\n".join(rows)

    def _block(self, value: float) -> str:
        return BLOCKS[min(8, math.ceil(8 * value / self.most))]


def on_the_clock(after: float) -> str:
    """What the clock says so many seconds after five: Sat 01:20."""
    at = STORY_BEGINS + timedelta(seconds=after)
    return f"{DAYS[at.weekday()]} {at:%H:%M}"


def hotfix(pools: Sequence[int] = (1, 3, 10)) -> Table:
    """When the hotfix begins: a row for each size of the pool, without and with priority."""
    rows = [[workers, _begins(evening(workers)), _begins(evening(workers, urgent=[HOTFIX]))] for workers in pools]
    asked = on_the_clock(HOTFIX * EVERY)
    return table(["workers", "first come, first served", "with priority"], rows, f"Asked for at {asked}, it begins at")


def _begins(one: Evening) -> object:
    mark = good if one.waits[HOTFIX] < LATE else bad
    return mark(on_the_clock(one.began[HOTFIX]))


def compared(evenings: Mapping[str, Evening]) -> Table:
    """What became of the evening, a row for each design."""
    rows = [[name, *_summary(one)] for name, one in evenings.items()]
    headers = ["", "hotfix begins", "median wait", "longest wait", "most in line", "refusals", "timed out", "over"]
    return table(headers, rows)


def _summary(one: Evening) -> list[object]:
    waits = [seconds(round(wait / 60) * 60) for wait in (median(one.waits), max(one.waits))]
    gone = bad(one.timed_out) if one.timed_out else good(0)
    return [_begins(one), *waits, one.longest, sum(one.refusals), gone, on_the_clock(one.over)]


def waiting_times(evenings: Mapping[str, Evening]) -> Bars:
    """How long each one waits, in the order in which they asked; what is red waited for longer than a day."""
    hours = {name: tuple(round(wait / HOUR, 2) for wait in one.waits) for name, one in evenings.items()}
    said = tuple(_longest(one) for one in evenings.values())
    title = "How many hours each one waits, by when it was asked for"
    day = PATIENCE / HOUR if any(one.timed_out for one in evenings.values()) else None
    return Bars(tuple(hours.items()), 0.0, EVERY, title, "", day, "h of waiting", said)


def _longest(one: Evening) -> str:
    longest = seconds(round(max(one.waits) / 60) * 60)
    gone = f", {one.timed_out} longer than a day" if one.timed_out else ""
    return f"up to {longest}{gone}" if max(one.waits) else "nobody waits"


def lengths(evenings: Mapping[str, Evening], bound: float | None = None) -> Bars:
    """How many are in line as the hours go by."""
    over = max(one.over for one in evenings.values())
    moments = [number * SAMPLE for number in range(int(over // SAMPLE) + 1)]
    series = tuple((name, tuple(float(one.length(at)) for at in moments)) for name, one in evenings.items())
    said = tuple(f"at most {one.longest}" for one in evenings.values())
    return Bars(series, 0.0, SAMPLE, "How many are in line", "", bound, "in line", said)
