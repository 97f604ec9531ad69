"""All crash points of a run as one strip: a dot where it holds, a cross where it breaks, a question mark otherwise.

Several strips stand under each other, so that a naive and a fixed version compare at a glance. Each cell tells
its crossing, its token and its reason on pointing; the sides of one call stand close.

Not handled here: the run behind a cell (see `picture`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from labkit.faults.paint import BASE_STYLE, DEEP_RED, GLYPHS, cells, clean, crop, element, escape, rule, scroll

CROSSING = re.compile(r"[:,](p\d+@[^,;~\s]+)")
WIDTH = 98
EACH = "a cell is one side of a call"
WORDS = {"holds": "holds", "broken": "broken", "not_exercised": "not exercised"}

STYLE = BASE_STYLE + "".join(
    [
        rule(
            ".lk .lk-strips",
            "display:grid;grid-template-columns:repeat(3,max-content);gap:7px 14px",
        ),
        rule(".lk.lk-strip", "container-type:inline-size"),
        rule(".lk .lk-cells", "display:flex"),
        rule(
            ".lk .lk-cell",
            "box-sizing:border-box;flex:none;width:15px;height:22px;border-radius:2px;margin-right:1px;display:flex;align-items:center;"
            "justify-content:center;font-size:12px;line-height:1;font-weight:700;cursor:default",
        ),
        rule(".lk .lk-gap", "margin-right:5px"),
        rule(".lk .lk-holds", "color@green;background:rgba(79,154,93,.22)"),
        rule(".lk .lk-broken", f"background:{DEEP_RED};color:#fff"),
        rule(".lk .lk-not_exercised", "border:1px dashed currentColor;opacity:.65"),
        rule(".lk .lk-of", "opacity:.8;white-space:nowrap"),
        rule(".lk .lk-label", "font-weight:600"),
        rule(".lk .lk-first", "margin-top:5px;font-size:12px"),
    ]
)
# subtle: on a narrow page the words stand above their cells, so that the cells of all rows still begin in one line
STYLE += "@container (max-width:680px){" + "".join(
    [
        rule(".lk .lk-strips", "grid-template-columns:max-content 1fr;grid-auto-flow:dense;gap:3px 14px"),
        rule(".lk .lk-cells", "grid-column:1/-1;margin-bottom:6px"),
    ]
)
STYLE += "}"


@dataclass(frozen=True)
class Cell:
    """One crash point; `verdict` is holds, broken or not_exercised."""

    token: str
    verdict: str
    why: str = ""

    @property
    def crossing(self) -> str:
        """The faults of the token, without the name of the scenario: p1@7.after+crash."""
        return ", ".join(CROSSING.findall(self.token)) or self.token

    @property
    def call(self) -> str:
        """The crossing without its side, so that both sides of one call are alike."""
        return re.sub(r"\.(before|after)[^.]*(\.\d[^.]*)?$", "", self.crossing)

    def __str__(self) -> str:
        words = [self.crossing, WORDS.get(self.verdict, self.verdict), self.why, self.token]
        return " | ".join(dict.fromkeys(clean(word) for word in words if clean(word)))


@dataclass(frozen=True)
class Row:
    """One strip."""

    label: str
    cells: tuple[Cell, ...]

    @property
    def sum(self) -> str:
        """What the strip says, in words."""
        counts = Counter(cell.verdict for cell in self.cells)
        total = len(self.cells)
        if not total:
            return "no crash points"
        parts = [f"{counts['broken']} of {total} broken"] if counts["broken"] else []
        missing = total - counts["broken"] - counts["holds"]
        parts += [f"{missing} not exercised"] if missing else []
        return ", ".join(parts) or f"all {total} hold"

    @property
    def first_broken(self) -> Cell | None:
        return next((cell for cell in self.cells if cell.verdict == "broken"), None)


@dataclass(frozen=True)
class Strip:
    """Strips under each other; `each` says what a cell is."""

    rows: tuple[Row, ...]
    each: str = EACH

    def __repr__(self) -> str:
        wide = min(24, max((cells(clean(row.label)) for row in self.rows), default=0))
        return "\n".join(line for row in self.rows for line in _printed(row, wide))

    def _repr_html_(self) -> str:
        strips = scroll(element("div", "".join(_drawn(row) for row in self.rows), cls="lk-strips"), "Crash points")
        below = f"{''.join(self._reasons())}{_legend(self.each)}"
        return element("div", f"<style>{STYLE}</style>{strips}{below}", cls="lk lk-strip")

    def _reasons(self) -> Iterator[str]:
        """For each strip with a broken cell: the first one, and why."""
        for row in self.rows:
            if cell := row.first_broken:
                token = element("span", escape(cell.token), cls="lk-token")
                label = f"{escape(row.label)}, first broken: " if row.label else "first broken: "
                yield element("div", f"{label}{token} {escape(cell.why)}", cls="lk-first")


def strip(rows: Iterable[tuple[str, Iterable[tuple[str, str, str]]]], *, each: str = EACH) -> Strip:
    """A strip for each (label, [(token, verdict, why), ...])."""
    return Strip(tuple(Row(label, tuple(Cell(*cell) for cell in points)) for label, points in rows), each)


def _drawn(row: Row) -> str:
    drawn = []
    for cell, following in zip(row.cells, [*row.cells[1:], None], strict=True):
        verdict = cell.verdict if cell.verdict in GLYPHS else "not_exercised"
        gap = " lk-gap" if following is not None and cell.call != following.call else ""
        drawn.append(element("span", GLYPHS[verdict][0], cls=f"lk-cell lk-{verdict}{gap}", title=str(cell)))
    label = element("span", escape(row.label), cls="lk-label")
    return label + element("span", "".join(drawn), cls="lk-cells") + element("span", row.sum, cls="lk-of")


def _legend(each: str) -> str:
    signs = [element("b", glyph) + f" {WORDS[verdict]}" for verdict, (glyph, _) in GLYPHS.items()]
    return element("div", " &#160; ".join([*signs, escape(each)]), cls="lk-below")


def _printed(row: Row, wide: int) -> Iterator[str]:
    """The strip in characters, on as many lines as it takes, and its first broken point."""
    signs = "".join(GLYPHS.get(cell.verdict, GLYPHS["not_exercised"])[1] for cell in row.cells)
    label = crop(clean(row.label), wide)
    head = label + " " * (wide - cells(label)) + "  "
    room = WIDTH - cells(head) - len(row.sum) - 2
    lines = [signs[at : at + room] for at in range(0, len(signs), room)] or [""]
    for index, line in enumerate(lines):
        tail = f"  {row.sum}" if index == len(lines) - 1 else ""
        yield ((head if index == 0 else " " * len(head)) + line + tail).rstrip()
    if cell := row.first_broken:
        yield from _told(" " * (wide + 2), f"first broken: {clean(cell.token)}", clean(cell.why))


def _told(inset: str, *parts: str) -> Iterator[str]:
    """The parts in one line, or each in its own where they do not fit."""
    whole = f"{inset}{' '.join(parts)}".rstrip()
    for line in [whole] if cells(whole) <= WIDTH else [f"{inset}{part}" for part in parts]:
        yield crop(line, WIDTH)
