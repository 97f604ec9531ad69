"""A run drawn to scale, under its two clocks: the seconds that really pass and what the clock on the wall says.

The lanes of a trace stand between two axes. The upper one never jumps. The lower one does where somebody set the clock;
the picture shows how far. Dashed lines mark instants, such as the deadline. Equal traces give equal bytes.

Not handled here: every call of a run (see `faults.picture`), and wall clocks that run too fast or too slowly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from labkit.clock import STORY_BEGINS
from labkit.faults.paint import BASE_STYLE, clean, crop, element, escape, rule, scaled, scroll, seconds, width, words
from labkit.faults.trace import Line, Trace

SIGNS = "&#9679; a question to the model &#160; \N{MULTIPLICATION X} died, or hangs &#160; \N{BLACK SQUARE} came to its end"
STEP = re.compile(r"clock_step\((-?[\d.e+]+)\)")
LEFT, PLOT, RIGHT = 104.0, 488.0, 136.0  # pixels: names of the rows, the time, room for the last words
TOP, LANE, AXIS = 46.0, 46.0, 40.0
TICKS = 9  # at most so many on an axis
ROUND = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400)

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk .lk-alive", "fill@sql;fill-opacity:.3"),
        rule(".lk .lk-asked", "fill@sql"),
        rule(".lk .lk-dead", "fill@red;font-size:15px;font-weight:700"),
        rule(".lk .lk-mark", "stroke@red;stroke-dasharray:5 4;stroke-width:1.5"),
        rule(".lk .lk-marked", "fill@red;font-weight:600"),
        rule(".lk .lk-late", "fill@red;fill-opacity:.08"),
        rule(".lk .lk-why", "color@red;font-weight:600;margin-top:5px"),
        rule(".lk .lk-axis", "stroke:currentColor;stroke-opacity:.5"),
        rule(".lk .lk-row", "font-weight:600"),
        rule(".lk .lk-soft", "fill-opacity:.75"),
    ]
)


@dataclass(frozen=True)
class Life:
    """One process from its start to its end; `asked` are the times of its calls to the model."""

    name: str
    begins: float
    ends: float
    asked: tuple[float, ...]
    how: str

    @property
    def died(self) -> bool:
        return self.how in ("crashed", "hung")


@dataclass(frozen=True)
class Clocks:
    """A run between two clocks; `steps` are (second, how far the wall clock was set), `marks` instants in seconds."""

    token: str
    lives: tuple[Life, ...]
    steps: tuple[tuple[float, float], ...]
    marks: tuple[tuple[str, float], ...]
    broken: str = ""
    title: str = ""

    @property
    def lasts(self) -> float:
        return max([1.0, *(life.ends for life in self.lives), *(at for _, at in self.marks)])

    def wall(self, second: float) -> str:
        """What the clock on the wall says then."""
        told = STORY_BEGINS + timedelta(seconds=second + sum(by for at, by in self.steps if at <= second))
        return told.strftime("%H:%M:%S").removesuffix(":00")

    def ticks(self) -> list[float]:
        every = next((step for step in ROUND if self.lasts / step <= TICKS), ROUND[-1])
        return [float(every * number) for number in range(int(self.lasts // every) + 1)]

    def __repr__(self) -> str:
        rows = [_row("time passed", *map(seconds, self.ticks()))]
        for life in self.lives:
            rows.append(_row(life.name, f"from {seconds(life.begins)} to {seconds(life.ends)}: {clean(life.how)}"))
        rows.append(_row("wall clock", *map(self.wall, self.ticks())))
        rows += [_row("", f"set by {signed(by)} after {seconds(at)}") for at, by in self.steps]
        rows += [_row("", f"{name}: after {seconds(at)}, the wall says {self.wall(at)}") for name, at in self.marks]
        rows += [f"broken: {clean(self.broken)}"] if self.broken else []
        return "\n".join(crop(row.rstrip(), 98) for row in rows)

    def _repr_html_(self) -> str:
        title = element("div", escape(self.title), cls="lk-title") if self.title else ""
        token = element("div", escape(self.token), cls="lk-token")
        why = f"\N{MULTIPLICATION X} broken: {self.broken}" if self.broken else ""
        below = element("div", escape(why), cls="lk-why") if why else ""
        drawn = scroll(_drawn(self), self.title or "Two clocks") + element("div", SIGNS, cls="lk-below")
        return element("div", f"<style>{STYLE}</style>{title}{token}{drawn}{below}", cls="lk lk-clocks")


def clocks(trace: Trace, marks: Mapping[str, float] | None = None, *, title: str = "") -> Clocks:
    """The run of this trace to scale. `marks` names instants, in seconds since the story began."""
    steps = [(line.time, float(found[1])) for line in trace.lines if (found := STEP.match(line.fault))]
    lives = tuple(_life(trace, start) for start in trace.lines if start.kind == "start")
    return Clocks(trace.token, lives, tuple(steps), tuple((marks or {}).items()), trace.broken or "", title)


def _life(trace: Trace, start: Line) -> Life:
    own = [line for line in trace.lines if line.process == start.process]
    asked = tuple(line.time for line in own if line.boundary == "http" and line.side == "before")
    end = next((line for line in own if line.kind == "end"), own[-1])
    return Life(start.process, start.time, own[-1].time, asked, end.text or end.label)


def _row(name: str, *told: str) -> str:
    return f"{name:<12}" + "".join(f"{text:<8}" for text in told)


def signed(by: float) -> str:
    """How far a clock was set: -10 min, +30 s."""
    return f"{'+' if by >= 0 else MINUS}{seconds(abs(by))}"


MINUS = "\N{MINUS SIGN}"


def _drawn(picture: Clocks) -> str:
    wide = LEFT + PLOT + RIGHT
    floor = TOP + LANE * len(picture.lives)
    high = floor + AXIS + (18 if picture.steps else 0)
    parts = [element("title", escape(picture.title or "Two clocks")), element("desc", escape(repr(picture)))]
    parts += _axis(picture, TOP, "time passed", up=True) + _axis(picture, floor, "wall clock", up=False)
    parts += _marks(picture, floor)
    for index, life in enumerate(picture.lives):
        parts += _lane(picture, life, TOP + index * LANE)
    parts += _steps(picture, floor)
    box = f"0 0 {wide:g} {high:g}"
    return element("svg", "".join(parts), viewBox=box, width=wide, height=high, role="img", style=scaled(wide))


def _x(picture: Clocks, second: float) -> float:
    return LEFT + PLOT * second / picture.lasts


def _axis(picture: Clocks, y: float, name: str, *, up: bool) -> list[str]:
    beside = -7.0 if up else 17.0
    parts = [words(8, y + (-7 if up else 17), name, "lk-soft")]
    parts.append(element("line", x1=LEFT, y1=y, x2=LEFT + PLOT, y2=y, cls="lk-axis"))
    for at in picture.ticks():
        x = _x(picture, at)
        parts.append(element("line", x1=x, y1=y - (4 if up else 0), x2=x, y2=y + (0 if up else 4), cls="lk-axis"))
        parts.append(words(x, y + beside, seconds(at) if up else picture.wall(at), "lk-soft", "middle"))
    return parts


def _lane(picture: Clocks, life: Life, top: float) -> list[str]:
    """A bar while the process lives, a dot for each question, and how it ended."""
    begins, ends, y = _x(picture, life.begins), _x(picture, life.ends), top + LANE / 2
    parts = [words(8, y + 4, crop(life.name, 10), "lk-row")]
    hint = element("title", escape(f"{life.name} from {seconds(life.begins)} to {seconds(life.ends)}: {life.how}"))
    wide = max(2.0, ends - begins)
    parts.append(element("rect", hint, x=begins, y=y - 9, width=wide, height=18.0, rx=4, cls="lk-alive"))
    for at in life.asked:
        hint = element("title", f"asks at {seconds(at)}")
        parts.append(element("circle", hint, cx=_x(picture, at) + 5, cy=y, r=3.0, cls="lk-asked"))
    sign = "\N{MULTIPLICATION X}" if life.died else "\N{BLACK SQUARE}"
    parts.append(words(ends, y + 5, sign, "lk-dead" if life.died else "", "middle"))
    said = crop(life.how.removeprefix("raised ").removeprefix("returned ").partition(":")[0], 20)
    parts.append(words(_clear(picture, ends + 11, said), y + 4, said, "lk-soft"))
    return parts


def _clear(picture: Clocks, x: float, said: str) -> float:
    """Where words that would begin at x are not crossed by a mark."""
    for _, at in sorted(picture.marks, key=lambda mark: mark[1]):
        line = _x(picture, at)
        x = line + 5 if x - 3 <= line <= x + width(said) + 3 else x
    return x


def _marks(picture: Clocks, floor: float) -> list[str]:
    parts = []
    for name, at in picture.marks:
        x = _x(picture, at)
        parts.append(element("rect", x=x, y=TOP, width=LEFT + PLOT - x, height=floor - TOP, cls="lk-late"))
        parts.append(element("line", x1=x, y1=TOP, x2=x, y2=floor, cls="lk-mark"))
        parts.append(words(x, 14, name, "lk-marked", "middle"))
    return parts


def _steps(picture: Clocks, floor: float) -> list[str]:
    parts = []
    for at, by in picture.steps:
        x = _x(picture, at)
        parts.append(element("line", x1=x, y1=floor - 14, x2=x, y2=floor, cls="lk-mark"))
        parts.append(words(x, floor + 36, f"set by {signed(by)}", "lk-marked", "middle"))
    return parts
