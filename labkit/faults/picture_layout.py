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


@dataclass(frozen=True)
class Spot:
    """The place of one column; `x` is its middle."""

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
    x = head
    for index, item in enumerate(items):
        left, right = _halves(item, story.processes)
        right = max(right, _tick_width(ticks.get(index)) - left)
        spots.append(Spot(item, x, x + left, x + left + right))
        x += left + right
    edges = [spot.left for spot in spots] + [x]
    total = x + max(10.0, _tick_width(ticks.get(len(items))))
    return Layout(spots, lanes, cloud, [(edges[index], label) for index, label in ticks.items()], head, total, height)


def _halves(item: Column | Fold, processes: Sequence[str]) -> tuple[float, float]:
    """Pixels that a column needs to the left and to the right of its middle."""
    texts = [word.width for process in processes for word in above(item, process)]
    texts += [word.width for word in ledger(item)]
    half = max([GATE if isinstance(item, Fold) or item.call else 10.0, *(text / 2 for text in texts)]) + AIR
    left = right = max(half, FAULTY) if isinstance(item, Column) and item.faults else half
    for tag in tags(item):
        if tag.place == "left":
            left = max(left, AIR + tag.width + AIR)
        else:
            right = max(right, tag_x(0.0, tag.place) + tag.width + AIR)
    return left, right


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
