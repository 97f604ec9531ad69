"""The words that stand at a column of the picture, already cut to lines: above the mark, below it, in the ledger.

Not handled here: their places (see `picture_layout`).
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.faults.paint import clean, width, wrap
from labkit.faults.picture_fold import Fold
from labkit.faults.picture_story import Column, Effect

LIMIT = 70.0  # pixels of a line above a mark
ROOMY = 100.0  # and of one that has more room
MOST = 8  # lines of what a process ended with
SIZES = {"lk-small": 10.0, "lk-key": 10.0, "lk-fault": 12.0}
WIDEST = 2.2 * ROOMY  # of the name of a fault, which is not cut
BOLD = frozenset({"lk-strong", "lk-fault", "lk-lost"})


@dataclass(frozen=True)
class Word:
    """One line of text and how it is set."""

    text: str
    cls: str = ""

    @property
    def width(self) -> float:
        return width(self.text, SIZES.get(self.cls, 11), bold=self.cls in BOLD)


@dataclass(frozen=True)
class Tag:
    """Lines below a mark: to the left of the middle, to its right, or from the left gate to the right."""

    place: str  # left, right, gate
    words: list[Word]

    @property
    def width(self) -> float:
        return max(word.width for word in self.words)


def lines(text: str, cls: str = "", most: int = 3, limit: float = ROOMY) -> list[Word]:
    """The text as words of one class."""
    return [Word(row, cls) for row in wrap(text, limit / 1.14 if cls in BOLD else limit, most, SIZES.get(cls, 11))]


def above(item: Column | Fold, process: str) -> list[Word]:
    """What is written above the mark in the lane of a process."""
    if isinstance(item, Fold):
        calls = item.calls[process]
        return [Word(f"\u2026 {calls} {'call' if calls == 1 else 'calls'} \u2026", "lk-soft")] if calls else []
    role = next((line.label or line.text for line in item.starts if line.process == process), None)
    if role is not None:
        return lines(role, "lk-soft", 2)
    if item.process != process:
        return []
    if item.before is not None and item.call is not None:
        ended = [] if item.call.last or not item.call.ended else lines(item.call.ended, "lk-soft", 2, LIMIT)
        return [*lines(item.call.label or item.call.boundary, limit=LIMIT), *ended]
    if item.end is not None and item.call is None:
        more = item.end.text.removeprefix(item.end.label)
        named = width(more.partition(":")[0].strip()) if item.end.label == "raised" else 0.0
        limit = max(1.6 * ROOMY, min(named + 5, WIDEST))  # the class of what was raised is not cut either
        return [*lines(item.end.label, "lk-strong", 1), *lines(more, "lk-soft", MOST, limit)]
    if item.note is not None:
        return [*lines(item.note.label or item.note.kind, "lk-strong", 2), *lines(item.note.text, "lk-soft", 4)]
    return []


def tags(item: Column | Fold) -> list[Tag]:
    """What is written below the mark: faults, and what they cost."""
    if isinstance(item, Fold):
        return []
    found: list[Tag] = []
    if item.before is not None and item.before.fault:
        went_on = item.after is not None or item.effect is not None
        found.append(Tag("left" if went_on else "gate", _fault(item.before.fault)))
    others = [line for line in item.faults if line is not item.before]
    if others:
        found.append(Tag("right", [word for line in others for word in _fault(line.fault)]))
    if item.lost or (item.end is not None and item.call is not None):
        rest = [Word(part.strip(), "lk-lost") for part in _halves(item.lost)]
        rest += lines(item.end.text, "lk-soft", 2) if item.end is not None and item.call is not None else []
        if rest and not found:
            return [Tag("right", rest)]
        if rest:
            found[-1] = Tag(found[-1].place, [*found[-1].words, *rest])
    return found


def _fault(name: str) -> list[Word]:
    """The name of a fault, whole: error(TerminalError) on two lines, the class unbroken."""
    kind, bracket, more = name.partition("(")
    if not bracket or len(short := lines(name, "lk-fault")) == 1:
        return lines(name, "lk-fault", 2, WIDEST) if not bracket else short
    return [*lines(kind, "lk-fault", 1), *lines(bracket + more, "lk-detail", 3, WIDEST)]


def _halves(sentence: str) -> list[str]:
    first, comma, rest = sentence.partition(",")
    return [first + comma, rest] if sentence else []


def ledger(item: Column | Fold) -> list[Word]:
    """What is written in the lane of the cloud."""
    if isinstance(item, Fold):
        return [Word(f"\u2026 {item.effects} \u2026", "lk-soft")] if item.effects else []
    if item.effect is None:
        return []
    return [
        *lines(item.effect.line.label, limit=0.8 * ROOMY),
        *lines(item.effect.key, "lk-key", 4),
        *_counted(item.effect),
    ]


def _counted(effect: Effect) -> list[Word]:
    if effect.again:
        return [Word("again, nothing new", "lk-soft")]
    return [Word(f"done {effect.count} times", "lk-lost")] if effect.count > 1 else []


def hover(item: Column) -> str:
    """Everything about a column in full, for whoever points at it."""
    return "\n".join(clean(line) for line in item.lines())
