"""How often something happened when: one row a series, all under one axis and on one scale, so that rows compare.

For the evening on which 200 clients come back, with and without jitter. Equal data give equal bytes.

Not handled here: measuring; tables (see `chart_table`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.faults.chart_table import Mark, Table, bad, good, table, unknown
from labkit.faults.paint import BASE_STYLE, clean, crop, element, escape, rule, scaled, scroll, words

__all__ = ["Histogram", "Mark", "Table", "bad", "good", "histogram", "table", "unknown"]

PLOT, HIGH, ROW = 720.0, 64.0, 100.0  # pixels: width of a plot, its height, and that of a row with its words
LEFT, RIGHT = 1.0, 40.0  # pixels beside a plot
BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk .lk-bar", "fill@sql"),
        rule(".lk .lk-over", "fill@red"),
        rule(".lk .lk-axis", "stroke:currentColor;stroke-opacity:.45"),
        rule(".lk .lk-limit", "stroke@red;stroke-dasharray:5 4;stroke-width:1.5"),
        rule(".lk .lk-name", "font-size:13px;font-weight:600"),
        rule(".lk .lk-soft", "fill-opacity:.75"),
    ]
)


@dataclass(frozen=True)
class Histogram:
    """How many values of each series fall into each bin of `step` units from `start` on."""

    series: tuple[tuple[str, tuple[float, ...]], ...]
    start: float
    step: float
    title: str = ""
    unit: str = "s"
    limit: float | None = None

    @property
    def most(self) -> float:
        return max([1.0, self.limit or 0.0, *(float(count) for _, counts in self.series for count in counts)])

    def at(self, index: int) -> str:
        """Where a bin begins, in words."""
        return clean(f"{round(self.start + index * self.step, 6):g} {self.unit}")

    def hint(self, index: int, count: float) -> str:
        """One bar, in words."""
        return f"{count} from {self.at(index)} to {self.at(index + 1)}"

    def peak(self, counts: Sequence[float]) -> str:
        """All and the fullest bin, in words."""
        most = max(counts, default=0)
        where = (
            f"at most {most} within {round(self.step, 6):g} {self.unit}, from {self.at(list(counts).index(most))} on"
        )
        return clean(f"{sum(counts)} in all, {where}") if most else "none"

    def __repr__(self) -> str:
        rows = [clean(self.title)] if self.title else []
        for label, counts in self.series:
            rows.append(crop(f"{clean(label)}: {self.peak(counts)}", 98))
            rows.append("  " + "".join(BLOCKS[math.ceil(8 * count / self.most)] for count in counts).rstrip())
        if self.series:
            bins = len(self.series[0][1])
            rows.append(f"  {self.at(0)}{self.at(bins).rjust(max(len(self.at(bins)) + 1, bins - len(self.at(0))))}")
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        title = element("div", escape(self.title), cls="lk-title") if self.title else ""
        drawn = scroll(_drawn(self), self.title or "Histogram")
        below = f"a bar counts what falls into {round(self.step, 6):g} {self.unit}; its height is on the scale at the right"
        legend = element("div", escape(below), cls="lk-below")
        return element("div", f"<style>{STYLE}</style>{title}{drawn}{legend}", cls="lk lk-chart")


def histogram(
    series: Mapping[str, Sequence[float]],
    *,
    title: str = "",
    unit: str = "s",
    bins: int = 60,
    limit: float | None = None,
) -> Histogram:
    """Count each series in at most `bins` bins of a round width; `limit` is a line that should not be passed."""
    values = [value for group in series.values() for value in group]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:  # one instant, shown on the way from nothing to it
        low, high = min(low, 0.0), max(high, 0.0) or float(low == 0)
    low = 0.0 if 0 <= low < high / 2 else low
    step = _round_step((high - low) / max(1, bins - 1))
    start = math.floor(low / step) * step
    count = int((high - start) / step + 1e-9) + 1
    counted = tuple((label, _counts(group, start, step, count)) for label, group in series.items())
    return Histogram(counted, start, step, title, unit, limit)


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def _counts(group: Sequence[float], start: float, step: float, bins: int) -> tuple[int, ...]:
    counts = [0] * bins
    for value in group:
        # subtle: 0.3 / 0.1 is a little less than 3, and an edge belongs to the bin that begins there
        counts[min(bins - 1, int((value - start) / step + 1e-9))] += 1
    return tuple(counts)


def _drawn(chart: Histogram) -> str:
    wide, high = LEFT + PLOT + RIGHT, len(chart.series) * ROW + 22
    said = "; ".join(f"{label}: {chart.peak(counts)}" for label, counts in chart.series)
    names = element("title", escape(chart.title or "Histogram")) + element("desc", escape(said))
    rows = [_row(chart, label, counts, index * ROW) for index, (label, counts) in enumerate(chart.series)]
    body = names + "".join(rows) + _axis(chart, high - 8)
    return element("svg", body, viewBox=f"0 0 {wide:g} {high:g}", width=wide, height=high, role="img", style=scaled(wide))


def _row(chart: Histogram, label: str, counts: Sequence[float], top: float) -> str:
    base, slot = top + ROW - 8, PLOT / max(1, len(counts))
    parts = [words(LEFT, top + 14, crop(clean(label), 40), "lk-name")]
    parts.append(words(LEFT + PLOT, top + 14, crop(chart.peak(counts), 64), "lk-soft", "end"))
    for index, count in enumerate(counts):
        if count:
            tall = max(1.5, HIGH * count / chart.most)
            over = chart.limit is not None and count > chart.limit
            place = {"x": LEFT + index * slot + 0.5, "y": base - tall, "width": max(1.0, slot - 1), "height": tall}
            hint = element("title", escape(chart.hint(index, count)))
            parts.append(element("rect", hint, **place, cls="lk-over" if over else "lk-bar"))
    parts.append(_across(base, "lk-axis"))
    parts += _scale(chart, base)
    if chart.limit is not None:
        y = base - HIGH * chart.limit / chart.most
        parts += [_across(y, "lk-limit"), words(LEFT + PLOT + 5, y + 3.5, f"{chart.limit:g}", "lk-soft")]
    return "".join(parts)


def _scale(chart: Histogram, base: float) -> list[str]:
    """How many the top of the plot stands for, at its right."""
    x, top = LEFT + PLOT, base - HIGH
    line = element("line", x1=x, y1=top, x2=x, y2=base, cls="lk-axis")
    marks = [element("line", x1=x, y1=y, x2=x + 4, y2=y, cls="lk-axis") for y in (top, base)]
    if chart.limit is not None and HIGH * (1 - chart.limit / chart.most) < 12:  # the limit has its number there
        return [line, *marks]
    return [line, *marks, words(x + 7, top + 4, f"{chart.most:g}", "lk-soft")]


def _across(y: float, cls: str) -> str:
    return element("line", x1=LEFT, y1=y, x2=LEFT + PLOT, y2=y, cls=cls)


def _axis(chart: Histogram, y: float) -> str:
    """Four times under the last row, and what the dashed line is."""
    bins = len(chart.series[0][1]) if chart.series else 0
    marks = dict.fromkeys(round(bins * part / 4) for part in range(5)) if bins else {}
    anchors = {0: "", bins: "end"}
    parts = [
        words(LEFT + PLOT * index / bins, y, chart.at(index), "lk-soft", anchors.get(index, "middle"))
        for index in marks
    ]
    return "".join(parts)
