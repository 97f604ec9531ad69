"""Gives every column of a story its place: no two texts overlap, lanes are straight, equal stories get equal pixels.

Widths are estimates from above (see `paint.width`), so texts also keep apart in a font that is wider than usual.

Not handled here: drawing (see `picture`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.faults.paint import clean, crop, seconds, width
from labkit.faults.picture_fold import Fold, fold
from labkit.faults.picture_story import Column, Story
from labkit.faults.picture_words import above, ledger, tags

GATE = 16.0  # from the middle of a column to the gate on each side
PILL = 24.0  # height of a call
LEAD = 14.0  # pixels from one line of words to the next
AXIS = 26.0  # height of the time axis
AIR = 5.0  # between neighbours
FAULTY = 32.0  # half a column in which a fault strikes, at least
NUMBER = 12.0  # height of the number of a call, above its mark
DROP = 8.0  # half of what an effect takes in a lane that it passes
MARKS, TIMES = -1, -2  # rows that are no lanes: the marks of all of them, the words on the axis


@dataclass(frozen=True)
class Spot:
    """The place of one column in its lane; `x` is its middle."""

    item: Column | Fold
    left: float
    x: float
    right: float


@dataclass(frozen=True)
class Lane:
    """The place of one process, or of the cloud; `y` is its line."""

    name: str
    top: float
    y: float
    bottom: float


@dataclass(frozen=True)
class Layout:
    """All places of a picture."""

    spots: list[Spot]
    lanes: dict[str, Lane]
    cloud: Lane | None
    ticks: list[tuple[float, str]]
    head: float
    width: float
    height: float


def lay_out(story: Story) -> Layout:
    """Where everything of the story stands."""
    items = fold(story)
    lanes, cloud, height = _lanes(story, items)
    names = [crop(clean(lane), 16) for lane in story.processes] + ["cloud"]
    head = max(width(name, 13, bold=True) for name in names) + 26
    ticks = _ticks(items)
    spots: list[Spot] = []
    places: list[tuple[float, str]] = []
    taken: dict[int, float] = {}  # how far to the right each row is full
    free = head
    for index, item in enumerate(items):
        if index in ticks:  # an instant is a line through all lanes, so nothing may reach across it
            free = max([free, *taken.values()])
            places.append((free, ticks[index]))
            taken[TIMES] = free + _tick_width(ticks[index])
        needs = _needs(item, story.processes)
        x = max(max(free, taken.get(row, free)) + left for row, (left, _) in needs.items())
        taken |= {row: x + right for row, (_, right) in needs.items()}
        left, right = needs[_row(item, story.processes)]
        spots.append(Spot(item, x - left, x, x + right))
    end = max([free, *taken.values()])
    places += [(end, ticks[len(items)])] if len(items) in ticks else []
    return Layout(spots, lanes, cloud, places, head, end + max(10.0, _tick_width(ticks.get(len(items)))), height)


def _row(item: Column | Fold, processes: Sequence[str]) -> int:
    """The row of the process that a column belongs to."""
    return processes.index(item.process) if isinstance(item, Column) and item.process in processes else MARKS


def _needs(item: Column | Fold, processes: Sequence[str]) -> dict[int, tuple[float, float]]:
    """Row -> pixels that a column needs there to the left and to the right of its middle.

    A row is a lane by its place, the cloud behind the last, or `MARKS`: no two marks stand above each other, whatever
    lanes they are in, so time goes from left to right; words only keep clear of the words of their own lane.
    """
    half = (GATE if isinstance(item, Fold) or item.call else 5.0) + AIR
    if isinstance(item, Column) and item.faults:
        half = FAULTY
    needs = {MARKS: (half, half)}
    for row, process in enumerate(processes):
        if texts := [word.width for word in above(item, process)]:
            needs[row] = (max(texts) / 2 + AIR,) * 2
    if texts := [word.width for word in ledger(item)]:
        needs[len(processes)] = (max(texts) / 2 + AIR,) * 2
    if isinstance(item, Fold):
        widest = (max(side for need in needs.values() for side in need),) * 2
        return dict.fromkeys([MARKS, *range(len(processes) + 1)], widest)
    own = _row(item, processes)
    if item.effect:  # it drops through all the lanes below
        for row in range(own + 1, len(processes)):
            needs[row] = _wider(needs.get(row, (0.0, 0.0)), (DROP, DROP))
    needs[own] = _wider(needs.get(own, (0.0, 0.0)), needs[MARKS])
    for tag in tags(item):
        left, right = AIR + tag.width + AIR, tag_x(0.0, tag.place) + tag.width + AIR
        needs[own] = _wider(needs[own], (left, 0.0) if tag.place == "left" else (0.0, right))
    return needs


def _wider(one: tuple[float, float], two: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], two[0]), max(one[1], two[1])


def tag_x(x: float, place: str) -> float:
    """Where the text of a tag begins (ends, for one on the left)."""
    return {"left": x - AIR, "right": x + AIR, "gate": x - GATE - 6}[place]


def _tick_width(label: str | None) -> float:
    return width(label, 10) + 12 if label else 0.0


def _ticks(items: Sequence[Column | Fold]) -> dict[int, str]:
    """Column index (at its left edge) -> the time that begins there; only where it changes."""
    ticks: dict[int, str] = {}
    shown = ""
    for index, item in enumerate(items):
        columns = item.columns if isinstance(item, Fold) else (item,)
        for place, line in enumerate(line for column in columns for line in column.lines()):
            if seconds(line.time) != shown:
                shown = seconds(line.time)
                ticks[index + (place > 0)] = shown
    return ticks


def _lanes(story: Story, items: Sequence[Column | Fold]) -> tuple[dict[str, Lane], Lane | None, float]:
    """A lane for each process, high enough for its words; then the cloud; then the height of it all."""
    lanes: dict[str, Lane] = {}
    top = AXIS
    for process in story.processes:
        own = [item for item in items if isinstance(item, Column) and item.process == process]
        over = max((len(above(item, process)) for item in items), default=0)
        under = max((len(tag.words) for item in own for tag in tags(item)), default=0)
        y = top + 8 + over * LEAD + NUMBER + 4 + PILL / 2
        bottom = y + PILL / 2 + (under * LEAD + 6 if under else 0) + 10
        lanes[process] = Lane(process, top, y, bottom)
        top = bottom + 6
    if not story.has_cloud:
        return lanes, None, top
    under = max((len(ledger(item)) for item in items), default=0)
    cloud = Lane("cloud", top + 8, top + 34, top + 34 + 14 + max(1, under) * LEAD + 8)
    return lanes, cloud, cloud.bottom + 4
