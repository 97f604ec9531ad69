"""An evening on one page: a column for each order, and going down what the cloud did for it; where somebody died, and what fell.

Nothing on it depends on when something happened, so equal ledgers give equal bytes. While an evening is under way the page is live, and has a button.

Not handled here: reading the ledger (see `capstone_left`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from labkit.faults import Line, Trace
from labkit.faults.paint import BASE_STYLE, element, escape, rule, scaled, scroll, words
from labkit.invariants import run
from labkit.invariants.runs import ALL_STORIES
from labkit.lessons.capstone import DIES_UNDOING, SYSTEMS, falls
from labkit.lessons.story_drawn import CLIENT, _seen
from labkit.plural import counted

SIDE, STEP, GAP, LEFT, TOP = 14.0, 17.5, 16.0, 4.0, 24.0  # pixels: a cell, from column to column, between groups, left of all and above
ENDS = {"completed": ("\N{CHECK MARK}", "c", "completed"), "failed": ("\N{LEFTWARDS ARROW WITH HOOK}", "b", "taken back")}
OPEN = ("?", "?", "not at its end")
CROSS = "\N{MULTIPLICATION X}"

# subtle: a page has one style for all of its pictures, so what is ours is ours by the name of the whole
STYLE = BASE_STYLE + "".join(
    [
        rule(".lk-evening .lk-eve-made", "fill@cloud;fill-opacity:.7"),
        rule(".lk-evening .lk-eve-back", "fill:none;stroke@cloud;stroke-width:1.5"),
        rule(".lk-evening .lk-eve-twice", "fill@red"),
        rule(".lk-evening .lk-eve-2", "fill:#fff;font-weight:700"),
        rule(".lk-evening .lk-eve-died", "stroke:currentColor;stroke-width:2.2;stroke-linecap:round"),
        rule(".lk-evening .lk-row", "font-size:12px;font-weight:600"),
        rule(".lk-evening .lk-eve-end", "font-size:13px;fill-opacity:.75"),
        rule(".lk-evening .lk-bad", "fill@red;font-weight:700;font-size:13px"),
        rule(".lk-evening .lk-eve-fell", "fill@red;fill-opacity:.12"),
        rule(".lk-evening .lk-below svg", "display:inline;width:14px;height:14px;min-width:0;vertical-align:-2px"),
    ]
)


@dataclass(frozen=True)
class Cell:
    """A line of the ledger: something was made, or taken back; whether for the second time; and whether its writer died of it."""

    name: str
    made: bool
    again: bool = False
    died: bool = False

    @property
    def sign(self) -> str:
        return "2" if self.again else "X" if self.died else "#" if self.made else "-"

    def __str__(self) -> str:
        return f"{self.name}{', again' * self.again}{': killed here' * self.died}"


@dataclass(frozen=True)
class Column:
    """An order: whose, how it ended, what was done for it, what fell ("" for nothing); `struck` when somebody died with it in hand."""

    whose: str
    state: str
    cells: tuple[Cell, ...]
    fell: str = ""
    struck: bool = False

    @property
    def group(self) -> str:
        kind = self.whose.partition("-")[0]
        return "payment" if kind == "ann" else kind

    @property
    def end(self) -> tuple[str, str, str]:
        return ENDS.get(self.state, OPEN)

    def __str__(self) -> str:
        return f"{self.whose}: {self.fell or self.end[2]}"


def printed(columns: Sequence[Column]) -> str:
    """The map in characters."""
    groups = [list(group) for _, group in groupby(columns, key=lambda column: column.group)]
    high = max((len(column.cells) for column in columns), default=0)
    rows = [[counted(len(group), group[0].group) for group in groups]]
    rows += [["".join(one.cells[at].sign if at < len(one.cells) else " " for one in group) for group in groups] for at in range(high)]
    rows.append(["".join(one.end[1] for one in group) for group in groups])
    rows.append(["".join("X" if one.fell else "." for one in group) for group in groups])
    wide = [max(len(row[at]) for row in rows) for at in range(len(groups))]
    names = ["", *[f"line {at}" for at in range(1, high + 1)], "end", "falls"]
    lines = [f"{name:8}" + "  ".join(part.ljust(w) for part, w in zip(row, wide, strict=True)) for name, row in zip(names, rows, strict=True)]
    legend = "# made  - taken back  X killed here  2 again   end: c completed  b taken back  ? not at its end"
    return "\n".join([*(line.rstrip() for line in lines), legend])


def drawn(columns: Sequence[Column], token: str, said: str) -> str:
    """The map as a fragment of HTML."""
    high = max((len(column.cells) for column in columns), default=0)
    parts, x = [element("title", escape(said)), element("desc", escape(printed(columns)))], LEFT
    for _, members in groupby(columns, key=lambda column: column.group):
        group = list(members)
        parts.append(words(x, 14, counted(len(group), group[0].group), "lk-row"))
        for column in group:
            parts.append(element("g", element("title", escape(column)) + "".join(_column(column, x, high))))
            x += STEP
        x += GAP
    wide, tall = x - GAP + LEFT, TOP + (high + 2) * STEP + 4
    picture = element("svg", "".join(parts), viewBox=f"0 0 {wide:g} {tall:g}", width=wide, height=tall, role="img", style=scaled(wide))
    head = (element("div", escape(token), cls="lk-token") if token else "") + (element("div", escape(said), cls="lk-title") if said else "")
    return element("div", f"<style>{STYLE}</style>{head}{scroll(picture, 'The evening, order by order')}{_legend()}", cls="lk lk-evening")


def _column(column: Column, x: float, high: int) -> Iterator[str]:
    middle, below = x + SIDE / 2, TOP + high * STEP
    if column.fell:
        yield element("rect", x=x - 1.5, y=TOP - 3, width=SIDE + 3, height=below - TOP + 2 * STEP, rx=3, cls="lk-eve-fell")
    for at, cell in enumerate(column.cells):
        yield from _cell(cell, x, TOP + at * STEP)
    yield words(middle, below + 12, column.end[0], "lk-eve-end", "middle")
    if column.fell:
        yield words(middle, below + STEP + 11, CROSS, "lk-bad", "middle")
    elif column.struck:
        yield _cross(x, below + STEP)


def _cell(cell: Cell, x: float, y: float) -> Iterator[str]:
    kind = "lk-eve-twice" if cell.again else "lk-eve-made" if cell.made else "lk-eve-back"
    inset = 0.0 if cell.made or cell.again else 1.0
    box = element("rect", element("title", escape(cell)), x=x + inset, y=y + inset, width=SIDE - 2 * inset, height=SIDE - 2 * inset, rx=3, cls=kind)
    yield box
    if cell.again:
        yield words(x + SIDE / 2, y + 11, "2", "lk-eve-2", "middle")
    if cell.died:
        yield _cross(x, y)


def _cross(x: float, y: float) -> str:
    """The sign of a death."""
    a, b = 3.5, SIDE - 3.5
    lines = (element("line", x1=x + a, y1=y + c, x2=x + b, y2=y + d, cls="lk-eve-died") for c, d in ((a, b), (b, a)))
    return "".join(lines)


def _legend() -> str:
    signs = [
        (Cell("", True), "made"),
        (Cell("", False), "taken back"),
        (Cell("", True, died=True), "and its worker was killed"),
        (Cell("", True, again=True), "made again"),
    ]
    keys = [element("svg", "".join(_cell(cell, 0, 0)), viewBox="0 0 14 14") + f" {escape(what)}" for cell, what in signs]
    ends = [f"{sign} {escape(what)}" for sign, _, what in (*ENDS.values(), OPEN)]
    return element("div", " &#160; ".join([*keys, *ends, f"{CROSS} something falls"]), cls="lk-below")


def lanes(system: str, story: str) -> Trace:
    """A run of the simulator: a lane for the client, each worker and the cloud, and under it what falls."""
    told = DIES_UNDOING if story == DIES_UNDOING.name else ALL_STORIES[story]
    made = run(SYSTEMS[system], told)
    names = dict(zip(made.processes, (CLIENT, *told.workers), strict=False))
    fell = {kind: next(iter(of.values())) for kind, of in falls(made).items()}
    return Trace(made.token, tuple(_with_refusals(list(_seen(made, names))))).with_broken(fell.items())


def _with_refusals(lines: Sequence[Line]) -> Iterator[Line]:
    """The same, with a word where a call was refused: nothing came of it, and nobody came back."""
    for line, following in zip(lines, [*lines[1:], Line("end")], strict=True):
        yield line
        if (line.kind, line.side, line.fault) == ("cross", "before", "") and following.kind != "effect":
            yield Line("note", line.process, line.time, label="refused", text="no room")


class Panel:
    """The map of an evening that is under way, and a button that kills. The widgets are made where there is a notebook (`ImportError`)."""

    def __init__(self, kill: Callable[[], str]) -> None:
        import ipywidgets

        self.button = ipywidgets.Button(description="kill a worker", button_style="danger")
        self.button.on_click(lambda button: self._pressed(kill))
        self.said, self.words, self.map = (ipywidgets.HTML() for _ in range(3))
        self.box = ipywidgets.VBox([ipywidgets.HBox([self.button, self.words]), self.said, self.map])

    def _pressed(self, kill: Callable[[], str]) -> None:
        self.words.value = escape(kill())

    def show(self, columns: Sequence[Column], said: str, *, over: bool) -> None:
        """How it stands. May be called from any thread."""
        self.said.value, self.map.value, self.button.disabled = escape(said), drawn(columns, "", ""), over

    def bundle(self, said: str) -> dict[str, Any]:
        """As a widget, and as markup and text for who only reads."""
        live: dict[str, Any] = self.box._repr_mimebundle_()
        return live | {"text/plain": said, "text/html": element("div", f"<style>{STYLE}</style>{escape(said)}", cls="lk lk-evening")}
