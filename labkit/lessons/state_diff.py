"""A state before and after, field by field: what was added, what is gone, and what another order would have made of it.

`diff(before, after)` sets two states side by side, or more than two: each is held against the first. What is new has a plus and what is gone
a minus, so nothing is said by colour alone. A thing that is there twice is shown twice. Fields that are the same everywhere are named below.

Not handled here: the order of things inside a list, which is shown and not marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.agent.state import AgentState, Artifact, Fact
from labkit.faults.chart_table import STYLE as TABLE_STYLE
from labkit.faults.paint import cells, clean, crop, element, escape, rule, scroll

KEPT, NEW, GONE = " ", "+", "\N{MINUS SIGN}"
CLASSES = {KEPT: "lk-kept", NEW: "lk-new", GONE: "lk-gone"}
WORDS = {KEPT: "", NEW: "added", GONE: "gone"}
NOTHING = "(nothing)"
MOST = 46  # cells of a column in the text
Shown = tuple[tuple[str, str], ...]  # (sign, text), one for each line of a cell

STYLE = TABLE_STYLE + "".join(
    [
        rule(".lk table.lk-diff td", "white-space:normal!important;vertical-align:top"),
        rule(".lk table.lk-diff div", "display:flex;padding:1px 6px 1px 2px"),
        rule(".lk table.lk-diff div b", "flex:none"),
        rule(".lk table.lk-diff .lk-kept", "opacity:.8"),
        rule(".lk table.lk-diff .lk-new", "background:rgba(63,124,191,.17);font-weight:600"),
        rule(".lk table.lk-diff .lk-new b", "color@sql"),
        rule(".lk table.lk-diff .lk-gone", "opacity:.75"),
        rule(".lk table.lk-diff .lk-gone span", "text-decoration:line-through"),
    ]
)


@dataclass(frozen=True)
class StateDiff:
    """A row for each field that differs: its name, and what each state holds there."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Shown, ...]], ...]
    same: tuple[str, ...]

    @property
    def below(self) -> str:
        return f"unchanged: {', '.join(self.same)}" if self.same else ""

    def __repr__(self) -> str:
        grid = [["", *self.names], *(row for name, columns in self.rows for row in _lines(name, columns))]
        wide = [min(MOST, max(cells(row[place]) for row in grid)) for place in range(len(self.names) + 1)]
        printed = ["  ".join(_padded(cell, w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in grid]
        printed.insert(1, "  ".join("\u2500" * w for w in wide))
        return "\n".join([*printed, self.below] if self.below else printed)

    def _repr_html_(self) -> str:
        head = element("tr", "".join(element("th", escape(name), scope="col") for name in ("", *self.names)))
        body = "".join(
            element("tr", element("th", escape(name), scope="row") + "".join(map(_cell, columns)))
            for name, columns in self.rows
        )
        drawn = element("table", f"<thead>{head}</thead><tbody>{body}</tbody>", cls="lk-table lk-diff")
        below = element("div", escape(self.below), cls="lk-below") if self.below else ""
        return element("div", f"<style>{STYLE}</style>{scroll(drawn, 'What changed')}{below}", cls="lk lk-chart")


def diff(before: AgentState, *after: AgentState, names: Sequence[str] = ()) -> StateDiff:
    """The states side by side, each held against the first."""
    states = (before, *after)
    names = tuple(names) or ("before", "after", *(f"after {number}" for number in range(2, len(after) + 1)))
    if len(names) != len(states):
        raise ValueError(f"{len(states)} states have {len(names)} names")
    rows, same = [], []
    for field in AgentState.model_fields:
        held = [said(getattr(state, field)) for state in states]
        if all(one == held[0] for one in held):
            same.append(_words(field))
        else:
            first = tuple((KEPT, text) for text in held[0])
            rows.append((_words(field), (first, *(compared(held[0], one) for one in held[1:]))))
    return StateDiff(tuple(names), tuple(rows), tuple(same))


def compared(old: Sequence[str], new: Sequence[str]) -> Shown:
    """The new texts with a sign for what was not among the old ones, and then what is gone."""
    left, lines = Counter(old), []
    for text in new:
        lines.append((KEPT if left[text] > 0 else NEW, text))
        left[text] -= 1
    return (*lines, *((GONE, text) for text in (+left).elements()))


def said(value: Any) -> list[str]:
    """What a field holds, a text for each thing in it."""
    if isinstance(value, Fact):
        return [f"{value.key} = {value.value}"]
    if isinstance(value, Artifact):
        return [f"{value.artifact_id[:8]}: {value.summary}, {value.bytes} bytes"]
    if isinstance(value, list):
        return [text for item in value for text in said(item)]
    if hasattr(value, "model_dump"):
        return [f"{_words(key)}: {', '.join(said(part)) or 'none'}" for key, part in _leaves(value)]
    return [clean(value)]


def _leaves(value: Any) -> list[tuple[str, Any]]:
    """The fields of a model and of the models inside it, by their names."""
    found: list[tuple[str, Any]] = []
    for key in type(value).model_fields:
        part = getattr(value, key)
        found += _leaves(part) if hasattr(part, "model_dump") else [(key, part)]
    return found


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(shown: Shown) -> str:
    return element("td", "".join(_line(sign, text) for sign, text in shown) or element("i", NOTHING))


def _line(sign: str, text: str) -> str:
    mark = element("b", sign.strip(), title=WORDS[sign], aria_label=WORDS[sign])
    return element("div", f"{mark}{element('span', escape(text))}", cls=CLASSES[sign])


def _lines(name: str, columns: Sequence[Shown]) -> list[list[str]]:
    """A field in as many lines as its fullest column takes."""
    texts = [[f"{sign} {text}" for sign, text in shown] or [f"  {NOTHING}"] for shown in columns]
    high = max(map(len, texts))
    filled = [column + [""] * (high - len(column)) for column in texts]
    return [[name if line == 0 else "", *(column[line] for column in filled)] for line in range(high)]


def _padded(text: str, wide: int) -> str:
    shown = crop(text, wide)
    return shown + " " * (wide - cells(shown))
