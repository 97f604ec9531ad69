"""The same picture in characters: a rail per process and one for the cloud, one row a call, less than 100 cells wide.

Not handled here: colour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from labkit.faults.paint import cells, clean, crop, seconds
from labkit.faults.picture_fold import Fold, fold
from labkit.faults.picture_frame import said
from labkit.faults.picture_story import Column, Story, read, side_of
from labkit.faults.trace import Trace

WIDTH = 98
TIME = 13
ENDS = ("\u25a0", "\u2716", "!")


@dataclass
class _Page:
    """Rows so far, who is alive, and the time that was printed last."""

    processes: list[str]
    wide: list[int]
    rows: list[str] = field(default_factory=list)
    alive: set[str] = field(default_factory=set)
    shown: str = ""

    def row(self, time: float, marks: dict[str, str], words: str, cloud: str = "", by: str = "") -> None:
        """One row: the time if it changed, the rails, the words."""
        now = seconds(time)
        stamp, self.shown = (now if now != self.shown else ""), now
        rails, reach = "", by not in self.processes if cloud else False
        for name, wide in zip(self.processes, self.wide, strict=True):
            mark = marks.get(name) or ("\u2502" if name in self.alive else " ")
            mark = "\u253c" if reach and mark == "\u2502" else "\u2500" if reach and mark == " " else mark
            reach = reach or (bool(cloud) and name == by)
            rails += mark + ("\u2500" if reach else " ") * (wide - 1)
        rails += ("\u2500\u25b6" + cloud if cloud else "").ljust(6)
        head = f"{stamp:>{TIME - 2}}  {rails} "
        words = words if words.startswith(" ") else clean(words)
        first, *more = _wrapped(words, max(12, WIDTH - cells(head)))
        self.rows.append((head + first).rstrip())
        self.rows += [f"{self._between(marks)}{row}" for row in more]

    def _between(self, marks: dict[str, str]) -> str:
        """The rails below a row, where what it says goes on."""
        pairs = zip(self.processes, self.wide, strict=True)
        alive = {name for name in self.alive if marks.get(name) not in ENDS}
        return " " * TIME + "".join(("\u2502" if name in alive else " ").ljust(wide) for name, wide in pairs) + " " * 7


def _wrapped(words: str, wide: int) -> list[str]:
    """The words in lines of so many cells; those after the first hang a little."""
    hang = " " * (len(words) - len(words.lstrip(" ")) + 2)
    rows = [""]
    for word in re.findall(r"\s*\S+", words):
        if rows[-1].strip() and cells(rows[-1] + word) > wide:
            rows.append(hang + word.lstrip())
        else:
            rows[-1] += word
    return [crop(row, wide) for row in rows]


def text(trace: Trace) -> str:
    """The picture of a trace for a terminal."""
    story = read(trace)
    names = [crop(clean(name), 10) for name in story.processes]
    page = _Page(story.processes, [max(2, cells(name)) + 1 for name in names])
    starting = {line.process for column in story.columns for line in column.starts}
    page.alive |= set(story.processes) - starting
    heads = "".join(name + " " * (wide - cells(name)) for name, wide in zip(names, page.wide, strict=True))
    heads += "cloud" if story.has_cloud else ""
    page.rows += [crop(clean(story.token), WIDTH), *(crop(clean(one), WIDTH) for one in said(story)), "", f"{'time':>{TIME - 2}}  {heads}".rstrip()]
    due = story.due
    for item in fold(story):
        columns = item.columns if isinstance(item, Fold) else (item,)
        past = [line.time - due for column in columns for line in column.lines() if due is not None]
        passes, inside = max(past, default=0.0) > 0, min(past, default=0.0) < 0
        if passes and not inside:
            _due(due, page)
        _fold(item, page) if isinstance(item, Fold) else _column(item, page)
        if passes and inside:
            _due(due, page)
        due = None if passes else due
    for line in story.broken:
        page.rows += ["", f"\u2716 broken: {crop(clean(line.label), WIDTH - 12)}", *_paragraph(line.text)]
    return "\n".join(page.rows) + "\n"


def _due(due: float | None, page: _Page) -> None:
    page.row(max(0.0, due or 0.0), dict.fromkeys(page.alive, "\u254e"), "-- the deadline passes --")


def _fold(item: Fold, page: _Page) -> None:
    last = [line for column in item.columns for line in column.lines()][-1]
    parts = [f"{name}: {count} {'call' if count == 1 else 'calls'}" for name, count in item.calls.items()]
    effects = [f"cloud: {item.effects}"] if item.effects else []
    page.row(last.time, dict.fromkeys(item.calls, "\u250a"), f"\u2026 {', '.join(parts + effects)} \u2026")


def _column(item: Column, page: _Page) -> None:
    name = item.process
    for line in item.starts:
        page.alive.add(line.process)
        page.row(line.time, {line.process: "\u25cf"}, f"{line.process} starts: {line.label or line.text}".rstrip(": "))
    if item.call is not None and (item.before or item.after):
        _call(item, page)
    if item.effect is not None:
        _effect(item, page)
    for line in item.faults:
        where = f" {side_of(line)} the call" if line.side else ""
        cost = f": {item.lost}" if item.lost and line is item.faults[-1] else ""
        page.row(line.time, {name: "\u2716" if line is item.death else "!"}, f"    <-- {line.fault}{where}{cost}")
    if item.end is not None:
        mark = {"returned": "\u25a0", "crashed": "\u2716"}.get(item.end.label, "!")
        more = item.end.text.removeprefix(item.end.label).strip() or ("" if item.faults else item.lost)
        page.row(item.end.time, {name: mark}, f"{name} {item.end.label}: {more}".rstrip(": "))
    if item.note is not None and not item.note.fault:
        page.row(item.note.time, {name: "\u2502"}, f"{item.note.kind} {item.note.label} {item.note.text}")
    if item.end is not None or item.death is not None:
        page.alive.discard(name)


def _call(item: Column, page: _Page) -> None:
    """One row for a call; when others came between its sides, one for each side."""
    assert item.call is not None
    line = item.before or item.after
    assert line is not None
    whole = item.before is not None and item.after is not None
    side = "" if whole or (item.call.after is None and item.before) else f" ({'before' if item.before else 'after'})"
    ended = f"; {item.call.ended}" if item.call.ended and item.before is not None else ""
    words = f"{item.call.number:>3} {clean(item.call.boundary):<5} {clean(item.call.label)}{side}{ended}"
    page.row(line.time, {item.process: "\u251d" if item.call.happened else "\u251c"}, words)


def _effect(item: Column, page: _Page) -> None:
    assert item.effect is not None
    effect = item.effect
    count = "again, nothing new" if effect.again else f"done {effect.count} times" if effect.count > 1 else "done"
    mark = f"({effect.count})" if effect.again else f"[{effect.count}]"
    words = f"    {effect.line.label}, {effect.key}: {count}"
    page.row(effect.line.time, {item.process: "\u2514"}, words, mark, item.process)


def _paragraph(sentence: str) -> list[str]:
    """The sentence in indented lines."""
    rows = [" "]
    for word in clean(sentence).split():
        if cells(rows[-1]) + 1 + cells(word) > WIDTH and rows[-1].strip():
            rows.append(" ")
        rows[-1] += " " + crop(word, WIDTH - 4)
    return rows if rows != [" "] else []


def summary(story: Story) -> str:
    """The picture in sentences, for whoever hears it read."""
    told = [f"Processes: {', '.join(story.processes) or 'none'}; {story.calls} calls.", *said(story)]
    for column in story.columns:
        told += [f"{line.fault} at {line.process} call {line.number} {side_of(line)}." for line in column.faults]
        told += [f"{column.lost}.".capitalize()] if column.lost else []
        told += [f"{column.process} {column.end.label}."] if column.end else []
        if column.effect:
            how = "again" if column.effect.again else f"effect {column.effect.count}"
            told.append(f"Cloud: {column.effect.line.label}, {column.effect.key}, {how}.")
    told += [f"Broken: {line.label}: {line.text}." for line in story.broken]
    return clean(" ".join(told if len(told) <= 60 else [*told[:40], "...", *told[-20:]]))
