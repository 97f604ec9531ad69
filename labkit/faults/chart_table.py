"""A table whose good and bad cells are told apart by sign, word and colour: what survives which trouble.

Not handled here: finding out what survives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from labkit.faults.paint import BASE_STYLE, GLYPHS, cells, clean, crop, element, escape, rule, scroll

TICK = "\N{CHECK MARK}"
SIGNS = {"holds": TICK, "broken": GLYPHS["broken"][0], "not_exercised": "?"}
WORDS = {"holds": "holds", "broken": "broken", "not_exercised": "not exercised"}
WIDTH = 98
MOST = 6  # lines of a cell in the text
WHOLE = 24  # cells of a word that is kept whole if it can be
ROOMY = 16  # cells of a text that stays in one line
UNIT = re.compile(r"(\d) (?=(s|min|h)\b)")
HANG = "  "  # under the words behind a sign
EDGE = "1px solid rgba(128,128,128,.3)"

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk table.lk-table", "border-collapse:collapse;margin:4px 0;font-size:13px;border:0;color:inherit"),
        rule(
            ".lk table.lk-table caption",
            "caption-side:top;text-align:left;font-weight:600;font-size:14px;padding:0 0 4px;color:inherit",
        ),
        rule(
            ".lk table.lk-table th,.lk table.lk-table td",
            f"padding:5px 12px;text-align:left;vertical-align:top;border:0;border-bottom:{EDGE};background:none;"
            "white-space:nowrap;max-width:22em;color:inherit",
        ),
        rule(".lk table.lk-table .lk-long", "white-space:normal;min-width:9em"),
        rule(".lk table.lk-table tr,.lk table.lk-table tr:hover", "background:none"),
        rule(".lk table.lk-table b", "display:inline-block;width:1.25em"),
        rule(".lk table.lk-table td.lk-holds", "background:rgba(79,154,93,.15)"),
        rule(".lk table.lk-table td.lk-holds b", "color@green"),
        rule(".lk table.lk-table td.lk-broken", "background:rgba(208,65,79,.17);font-weight:600"),
        rule(".lk table.lk-table td.lk-broken b", "color@red"),
        rule(".lk table.lk-table td.lk-not_exercised", "font-style:italic"),
    ]
)


@dataclass(frozen=True)
class Mark:
    """A cell with a verdict: holds, broken or not_exercised."""

    verdict: str
    text: str = ""

    def __str__(self) -> str:
        return f"{SIGNS.get(self.verdict, '?')} {clean(self.text) or WORDS.get(self.verdict, self.verdict)}"


def good(text: object = "") -> Mark:
    """A cell that says: this is right."""
    return Mark("holds", str(text))


def bad(text: object = "") -> Mark:
    """A cell that says: this is wrong."""
    return Mark("broken", str(text))


def judged(why: object) -> Mark:
    """Wrong for the reason given; right where there is none."""
    return bad(why) if why else good()


def unknown(text: object = "") -> Mark:
    """A cell that says: nobody has seen it happen."""
    return Mark("not_exercised", str(text))


@dataclass(frozen=True)
class Table:
    """Rows under headers; the first cell of a row names it."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str | Mark, ...], ...]
    caption: str = ""

    def __repr__(self) -> str:
        grid = [[clean(cell) for cell in row] for row in (self.headers, *self.rows)]
        count = max((len(row) for row in grid), default=0)
        grid = [row + [""] * (count - len(row)) for row in grid]
        wide = _widths(grid, count)
        head, *body = ["\n".join(_printed(row, wide)) for row in grid]
        lines = [head, "  ".join("\u2500" * w for w in wide), *body]
        return "\n".join([clean(self.caption), *lines] if self.caption else lines)

    def _repr_html_(self) -> str:
        head = element("tr", "".join(element("th", escape(name), scope="col", cls=_long(name)) for name in self.headers))
        body = "".join(
            element("tr", "".join(_cell(cell, index) for index, cell in enumerate(row))) for row in self.rows
        )
        caption = element("caption", escape(self.caption)) if self.caption else ""
        inside = f"{caption}<thead>{head}</thead><tbody>{body}</tbody>"
        table = element("table", inside, cls="lk-table")
        return element("div", f"<style>{STYLE}</style>{scroll(table, self.caption or 'Table')}", cls="lk lk-chart")


def table(headers: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> Table:
    """A table. A cell is a `Mark` (see `good`, `bad`, `unknown`), a bool, a verdict's name, or anything with a text."""
    return Table(tuple(str(h) for h in headers), tuple(tuple(_marked(cell) for cell in row) for row in rows), caption)


def _marked(cell: object) -> str | Mark:
    if isinstance(cell, Mark):
        return cell
    if isinstance(cell, bool):
        return Mark("holds", "yes") if cell else Mark("broken", "no")
    return Mark(cell) if isinstance(cell, str) and cell in WORDS else str(cell)


def _cell(cell: str | Mark, index: int) -> str:
    long = _long(str(cell))
    if isinstance(cell, Mark):
        sign, _, text = str(cell).partition(" ")
        verdict = cell.verdict if cell.verdict in WORDS else "not_exercised"
        return element("td", f"{element('b', sign)}{_unbroken(text)}", cls=f"lk-{verdict} {long}".strip())
    if index == 0:
        return element("th", _unbroken(cell), scope="row", cls=long)
    return element("td", _unbroken(cell), cls=long)


def _long(text: str) -> str:
    """The class of what may take several lines."""
    return "lk-long" if cells(text) > ROOMY else ""


def _unbroken(text: str) -> str:
    """A number keeps its unit on its line."""
    return UNIT.sub("\\1\N{NO-BREAK SPACE}", escape(text))


def _widths(grid: Sequence[Sequence[str]], count: int) -> list[int]:
    """The widest cell of each column; where all together are too wide, the widest columns wrap, words whole if they can."""
    columns = [[row[index] for row in grid] for index in range(count)]
    wide = [max(1, *map(cells, column)) for column in columns]
    words = [max([4, *(cells(word) for cell in column for word in cell.split())]) for column in columns]
    while sum(wide) + 2 * (count - 1) > WIDTH and max(wide) > 4:
        roomy = [index for index in range(count) if wide[index] > min(WHOLE, words[index] + len(HANG))]
        wide[max(roomy or range(count), key=wide.__getitem__)] -= 1
    return wide


def _printed(row: Sequence[str], wide: Sequence[int]) -> Iterator[str]:
    """A row in as many lines as its highest cell takes."""
    for line in zip_longest(*map(_wrapped, row, wide), fillvalue=""):
        yield "  ".join(shown + " " * (w - cells(shown)) for shown, w in zip(line, wide, strict=True)).rstrip()


def _wrapped(cell: str, wide: int) -> list[str]:
    """A cell in at most `MOST` lines; what follows a sign hangs behind it."""
    hang = HANG if cell[:2].rstrip() in SIGNS.values() else ""
    lines = [""]
    for word in cell.split():
        if lines[-1].strip() not in ("", *SIGNS.values()) and cells(f"{lines[-1]} {word}") > wide:
            lines.append(hang)
        lines[-1] += f" {word}" if lines[-1].strip() else word
        while cells(lines[-1]) > wide:  # a word that is longer than a line
            cut = _fitting(lines[-1], wide)
            lines[-1:] = [lines[-1][:cut], hang + lines[-1][cut:]]
    last = crop(f"{lines[MOST - 1]} \N{HORIZONTAL ELLIPSIS}", wide) if len(lines) > MOST else ""
    return [*lines[: MOST - 1], last] if last else lines


def _fitting(text: str, wide: int) -> int:
    """How many characters of the text fit into so many cells."""
    return next(size for size in range(len(text), 0, -1) if size == 1 or cells(text[:size]) <= wide)
