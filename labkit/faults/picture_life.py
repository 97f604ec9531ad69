"""Where the line of each process runs: from start to end, open at a call, dotted where calls are left out.

Not handled here: the marks on the line (see `picture`).
"""

from __future__ import annotations

from labkit.faults import picture_parts as parts
from labkit.faults.picture_fold import Fold
from labkit.faults.picture_layout import GATE, Lane, Layout, Spot
from labkit.faults.picture_story import Call, Column


def span(call: Call, layout: Layout) -> tuple[float, float]:
    """From the first gate of a call to its last."""
    xs = [spot.x for spot in layout.spots if isinstance(spot.item, Column) and spot.item.call is call]
    return xs[0] - GATE, xs[-1] + GATE


def life(lane: Lane, layout: Layout, *, begins: bool) -> str:
    """The line of a process; one without a start in the trace was there before it."""
    pen = _Pen(lane, None if begins else layout.head)
    for spot in layout.spots:
        if isinstance(spot.item, Fold):
            if spot.item.calls[lane.name]:
                pen.to(spot.left + 4)
                pen.drawn.append(parts.line(spot.left + 4, lane.y, spot.right - 4, lane.y, "lk-fold"))
                pen.at = spot.right - 4
            continue
        if any(line.process == lane.name for line in spot.item.starts):
            pen.at = spot.x + 5
        if spot.item.process == lane.name:
            _pass(spot.item, spot, layout, pen)
    pen.to(layout.width - 10)
    return "".join(pen.drawn)


def _pass(item: Column, spot: Spot, layout: Layout, pen: _Pen) -> None:
    """Past one column of the process itself."""
    if item.call is not None and (item.before is not None or item.call.before is None):
        x1, x2 = span(item.call, layout)
        pen.to(x1)
        pen.at = x2
    if item.end is not None and item.death in (None, item.end):
        pen.to(spot.x)
    if item.end is not None or item.death is not None:
        pen.at = None


class _Pen:
    def __init__(self, lane: Lane, at: float | None) -> None:
        self.lane, self.at = lane, at
        self.drawn: list[str] = []

    def to(self, x: float) -> None:
        """Draw up to x, if the process lives."""
        if self.at is not None and x > self.at:
            self.drawn.append(parts.line(self.at, self.lane.y, x, self.lane.y, "lk-life"))
        self.at = None if self.at is None else x
