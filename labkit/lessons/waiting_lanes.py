"""Nights under one axis: a lane for the task that waits, one for each worker, one for the person, and what each does when.

A bar lasts while something is so: a worker is busy or blocked, a task is held or waits. A moment is a question or an answer; one that reaches nobody is red and
says so. In the text each letter is a quarter of an hour. Equal nights give equal bytes.

Not handled here: playing the nights (see `approvals_night`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from labkit.faults.paint import BASE_STYLE, clean, crop, element, escape, rule, scaled, scroll, words

LEFT, PLOT, RIGHT = 92.0, 720.0, 130.0  # pixels: names of the lanes, the night, room for the last words
AXIS, HEAD, LANE, BAR, GAP = 24.0, 24.0, 34.0, 14.0, 12.0
QUARTER = 0.25  # hours
NEAR = 1.0  # hours: what comes so soon after a moment has its words on the other side
KINDS = {  # of a bar: its letter and what it says
    "waiting": ("w", "the task waits, and nobody holds it"),
    "held": ("h", "a worker holds the task"),
    "blocked": ("B", "the worker waits, too"),
    "routine": ("r", "another task"),
}

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk .lk-waiting", "fill@clock;fill-opacity:.12;stroke@clock;stroke-dasharray:5 3"),
        rule(".lk .lk-held", "fill@sql;fill-opacity:.45"),
        rule(".lk .lk-blocked", "fill@red;fill-opacity:.3;stroke@red"),
        rule(".lk .lk-routine", "fill@cloud;fill-opacity:.4"),
        rule(".lk .lk-band", "fill:currentColor;fill-opacity:.045"),
        rule(".lk .lk-axis", "stroke:currentColor;stroke-opacity:.2;stroke-dasharray:2 3"),
        rule(".lk .lk-at", "stroke:currentColor;stroke-opacity:.8;stroke-width:2"),
        rule(".lk .lk-bad", "fill@red;font-weight:700"),
        rule(".lk .lk-row", "font-size:13px;font-weight:600"),
        rule(".lk .lk-soft", "fill-opacity:.75"),
    ]
)


@dataclass(frozen=True)
class Bar:
    """From when to when (hours of the day) something is so."""

    begins: float
    ends: float
    kind: str


@dataclass(frozen=True)
class Moment:
    """Something at one time; `lost` when it reaches nobody."""

    at: float
    text: str
    lost: bool = False

    def __str__(self) -> str:
        return f"{o_clock(self.at)} {'X ' * self.lost}{self.text}"


@dataclass(frozen=True)
class Lane:
    """One row: bars, or moments, or both."""

    name: str
    bars: tuple[Bar, ...] = ()
    moments: tuple[Moment, ...] = ()


@dataclass(frozen=True)
class Night:
    """One design in one night, and its score in words."""

    name: str
    score: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Nights:
    """Several nights from `begins` to `ends`, o'clock."""

    nights: tuple[Night, ...]
    begins: float
    ends: float

    def __repr__(self) -> str:
        lines = []
        for night in self.nights:
            lines.append(clean(f"{night.name}: {night.score}"))
            lines += [f"  {crop(lane.name, 10):<10}  {self._printed(lane)}".rstrip() for lane in night.lanes]
        letters = ", ".join(f"{letter} {said}" for letter, said in KINDS.values())
        return "\n".join([*lines, f"a letter is a quarter of an hour, from {o_clock(self.begins)} on: {letters}"])

    def _printed(self, lane: Lane) -> str:
        count = round((self.ends - self.begins) / QUARTER)
        letters = ["."] * count
        for bar in lane.bars:
            for place in range(round((bar.begins - self.begins) / QUARTER), round((bar.ends - self.begins) / QUARTER)):
                letters[place] = KINDS[bar.kind][0]
        told = "; ".join(map(str, lane.moments))
        return told if not lane.bars else f"{''.join(letters)}{'  ' + told if told else ''}"

    def _repr_html_(self) -> str:
        drawn = scroll(_drawn(self), "Nights under one axis")
        below = element("div", "".join(map(_key, KINDS)), cls="lk-below")
        return element("div", f"<style>{STYLE}</style>{drawn}{below}", cls="lk lk-nights")


def o_clock(at: float) -> str:
    """An hour of the day for people: 3:00, 8:15."""
    return f"{int(at)}:{round(at % 1 * 60):02d}"


def _key(kind: str) -> str:
    box = element("rect", x=1.0, y=1.0, width=20.0, height=9.0, rx=2, cls=f"lk-{kind}")
    return element("svg", box, width=22, height=11, role="presentation") + f" {escape(KINDS[kind][1])} &#160; "


def _drawn(picture: Nights) -> str:
    high = AXIS + sum(HEAD + LANE * len(night.lanes) + GAP for night in picture.nights)
    wide = LEFT + PLOT + RIGHT
    parts = [element("title", "Nights under one axis"), element("desc", escape(repr(picture)))]
    for hour in range(int(picture.begins), int(picture.ends) + 1):
        x = _x(picture, hour)
        parts.append(element("line", x1=x, y1=AXIS - 6, x2=x, y2=high, cls="lk-axis"))
        parts.append(words(x, 12, o_clock(hour), "lk-soft", "middle"))
    top = AXIS
    for night in picture.nights:
        parts.append(words(8, top + 17, clean(f"{night.name}: {night.score}"), "lk-row"))
        top += HEAD
        for lane in night.lanes:
            parts += _lane(picture, lane, top)
            top += LANE
        top += GAP
    return element(
        "svg", "".join(parts), viewBox=f"0 0 {wide:g} {high:g}", width=wide, height=high, role="img", style=scaled(wide)
    )


def _x(picture: Nights, at: float) -> float:
    return LEFT + PLOT * (at - picture.begins) / (picture.ends - picture.begins)


def _lane(picture: Nights, lane: Lane, top: float) -> list[str]:
    y = top + LANE / 2
    parts = [element("rect", x=0, y=top + 1, width=LEFT + PLOT + RIGHT, height=LANE - 2, rx=4, cls="lk-band")]
    parts.append(words(8, y + 4, crop(lane.name, 12), "lk-soft"))
    for bar in lane.bars:
        left, right = _x(picture, bar.begins), _x(picture, bar.ends)
        hint = element("title", escape(f"{o_clock(bar.begins)} to {o_clock(bar.ends)}: {KINDS[bar.kind][1]}"))
        parts.append(
            element(
                "rect", hint, x=left + 1, y=y - BAR / 2, width=right - left - 2, height=BAR, rx=3, cls=f"lk-{bar.kind}"
            )
        )
    for moment, following in zip_longest(lane.moments, lane.moments[1:]):
        x, near = _x(picture, moment.at), following is not None and following.at - moment.at < NEAR
        parts.append(element("line", x1=x, y1=y - BAR / 2 - 2, x2=x, y2=y + BAR / 2 + 2, cls="lk-at"))
        text, cls = "\N{MULTIPLICATION X} " * moment.lost + moment.text, "lk-bad" if moment.lost else ""
        parts.append(words(x - 5, y + 4, text, cls, "end") if near else words(x + 5, y + 4, text, cls))
    return parts
