"""Runs under one schedule, drawn under one axis: who held the task when, who slept, what was asked and what was done.

A run is two lanes. A bar lasts while a worker believes that the task is its own; above it stands what it asked the database,
below it what it did outside. What happened for the second time is red and says so. Equal traces give equal bytes.

Not handled here: every call of a run (see `faults.picture`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from labkit.faults import Trace
from labkit.faults.paint import BASE_STYLE, clean, crop, element, escape, rule, scaled, scroll, seconds, words
from labkit.faults.trace import Line

LEFT, PLOT, RIGHT = 64.0, 800.0, 150.0  # pixels: names of the lanes, the time, room for the last words
AXIS, HEAD, LANE, BAR, GAP = 24.0, 24.0, 52.0, 14.0, 12.0
EVERY = 300.0  # seconds from tick to tick
ASKED = ("heartbeat", "completion")  # the writes of a worker, in order
DID = {"deploy_container": "container", "send_mail": "mail"}

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk .lk-held", "fill@sql;fill-opacity:.35"),
        rule(".lk .lk-asleep", "fill@red;fill-opacity:.14;stroke@red;stroke-dasharray:4 3"),
        rule(".lk .lk-band", "fill:currentColor;fill-opacity:.045"),
        rule(".lk .lk-at", "stroke:currentColor;stroke-opacity:.8;stroke-width:2"),
        rule(".lk .lk-axis", "stroke:currentColor;stroke-opacity:.2;stroke-dasharray:2 3"),
        rule(".lk .lk-bad", "fill@red;font-weight:700"),
        rule(".lk .lk-row", "font-size:13px;font-weight:600"),
        rule(".lk .lk-firm", "font-weight:700"),
        rule(".lk .lk-soft", "fill-opacity:.75"),
    ]
)


@dataclass(frozen=True)
class Moment:
    """What a worker asked and did at one time; `again` when the outside world had that already."""

    at: float
    asked: str = ""
    did: str = ""
    again: bool = False

    def __str__(self) -> str:
        return f"{seconds(self.at)} " + ", ".join(filter(None, (self.asked, self.did)))


@dataclass(frozen=True)
class Life:
    """One worker, from its claim to its end; it slept from `sleeps` to `wakes`."""

    name: str
    begins: float
    ends: float
    moments: tuple[Moment, ...]
    sleeps: float = 0.0
    wakes: float = 0.0

    def __str__(self) -> str:
        slept = [f"{seconds(self.sleeps)} asleep until {seconds(self.wakes)}"] if self.wakes else []
        told = [f"{seconds(self.begins)} claim", *slept, *map(str, self.moments)]
        return f"  {self.name}  {'; '.join(told)}"


@dataclass(frozen=True)
class Lives:
    """Runs by name, under one axis."""

    runs: tuple[tuple[str, tuple[Life, ...]], ...]

    @property
    def lasts(self) -> float:
        return max([EVERY, *(life.ends for _, lives in self.runs for life in lives)])

    def __repr__(self) -> str:
        return "\n".join(line for run in self.runs for line in (headline(*run), *map(str, run[1])))

    def _repr_html_(self) -> str:
        below = "a bar: it takes the task for its own; above: what it asks the database; below: what it does outside"
        drawn = scroll(_drawn(self), "Runs under one schedule") + element("div", below, cls="lk-below")
        return element("div", f"<style>{STYLE}</style>{drawn}", cls="lk lk-lives")


def headline(name: str, each: tuple[Life, ...]) -> str:
    """The name of a run and its score."""
    doubled = sum(moment.again for life in each for moment in life.moments)
    return crop(clean(f"{name}: {doubled or 'nothing'} doubled"), 60)


def lives(traces: Mapping[str, Trace]) -> Lives:
    """These runs, each under its name."""
    return Lives(tuple((name, tuple(_read(trace))) for name, trace in traces.items()))


def _read(trace: Trace) -> list[Life]:
    """The workers of a run. Effects are counted over all of them, in the order in which they happened."""
    seen: Counter[str] = Counter()
    found: dict[str, list[Moment]] = {name: [] for name in trace.processes}
    for line in trace.lines:
        if line.kind == "effect":
            name, known = DID[line.label.split()[0]], line.text.endswith("again")
            seen[name] += not known
            again = seen[name] > 1 and not known
            told = f"the same {name}" if known else f"2nd {name}" if again else name
            found[line.process].append(Moment(line.time, did=told, again=again))
    each = [_life(name, [line for line in trace.lines if line.process == name], found[name]) for name in found]
    ended = sorted(moment.at for life in each for moment in life.moments if moment.asked == ASKED[-1])
    return [replace(life, moments=tuple(_over(moment, ended[:1]) for moment in life.moments)) for life in each]


def _over(moment: Moment, first: list[float]) -> Moment:
    """A completion that wrote over the first one says so."""
    late = moment.asked == ASKED[-1] and moment.at not in first
    return replace(moment, asked=f"2nd {moment.asked}") if late else moment


def _life(name: str, lines: list[Line], did: list[Moment]) -> Life:
    done = [line for line in lines if line.kind == "cross" and line.side == "after"]
    begins = [line.time for line in done if line.label == "WITH tasks"][-1]
    asked = {
        line.time: word for word, line in zip(ASKED, (one for one in done if one.label == "UPDATE tasks"), strict=False)
    }
    end = next(line for line in lines if line.kind == "end")
    if "stopped" in end.text:
        asked[max(asked)] += " refused"
    by_time = {moment.at: moment for moment in did}
    times = sorted({*asked, *by_time})
    moments = [replace(by_time.get(at, Moment(at)), asked=asked.get(at, "")) for at in times]
    pause = next((line for line in lines if line.fault.startswith("pause")), None)
    sleeps = pause.time if pause else 0.0
    wakes = sleeps + float(pause.fault[len("pause(") : -1]) if pause else 0.0
    return Life(name, begins, end.time, tuple(moments), sleeps, wakes)


def _drawn(picture: Lives) -> str:
    high = AXIS + sum(HEAD + LANE * len(each) + GAP for _, each in picture.runs)
    wide = LEFT + PLOT + RIGHT
    parts = [element("title", "Runs under one schedule"), element("desc", escape(repr(picture)))]
    parts += _axis(picture, high)
    top = AXIS
    for name, each in picture.runs:
        parts.append(words(8, top + 17, headline(name, each), "lk-row"))
        top += HEAD
        for life in each:
            parts += _lane(picture, life, top)
            top += LANE
        top += GAP
    box = f"0 0 {wide:g} {high:g}"
    return element("svg", "".join(parts), viewBox=box, width=wide, height=high, role="img", style=scaled(wide))


def _x(picture: Lives, second: float) -> float:
    return LEFT + PLOT * second / picture.lasts


def _axis(picture: Lives, high: float) -> list[str]:
    parts = []
    for number in range(int(picture.lasts // EVERY) + 1):
        x = _x(picture, number * EVERY)
        parts.append(element("line", x1=x, y1=AXIS - 6, x2=x, y2=high, cls="lk-axis"))
        parts.append(words(x, 12, seconds(number * EVERY), "lk-soft", "middle"))
    return parts


def _lane(picture: Lives, life: Life, top: float) -> list[str]:
    y = top + LANE / 2
    wide = LEFT + PLOT + RIGHT
    parts = [element("rect", x=0, y=top + 1, width=wide, height=LANE - 2, rx=4, cls="lk-band")]
    parts.append(words(8, y + 4, crop(life.name, 6), "lk-soft"))
    parts.append(_bar(picture, life.begins, life.ends, y, "lk-held"))
    if life.wakes:
        parts.append(_bar(picture, life.sleeps, life.wakes, y, "lk-asleep"))
        middle = _x(picture, (life.sleeps + life.wakes) / 2)
        parts.append(words(middle, y + 4, "asleep", "", "middle"))
    parts += _moment(picture, Moment(life.begins, "claim"), y)
    for moment in life.moments:
        parts += _moment(picture, moment, y)
    return parts


def _bar(picture: Lives, begins: float, ends: float, y: float, cls: str) -> str:
    left, right = _x(picture, begins), _x(picture, ends)
    return element("rect", x=left, y=y - BAR / 2, width=max(2.0, right - left), height=BAR, rx=3, cls=cls)


def _moment(picture: Lives, moment: Moment, y: float) -> list[str]:
    """A tick through the bar, the question above it and the effect below it."""
    x = _x(picture, moment.at)
    parts = [element("line", x1=x, y1=y - BAR / 2 - 2, x2=x, y2=y + BAR / 2 + 2, cls="lk-at")]
    for word, below in ((moment.asked, -BAR / 2 - 5), (moment.did, BAR / 2 + 13)):
        again = word.startswith("2nd")
        cls = "lk-bad" if again else "lk-firm" if word.endswith("refused") else ""
        parts += [words(x + 2, y + below, "\N{MULTIPLICATION X} " * again + word, cls)] if word else []
    return parts
