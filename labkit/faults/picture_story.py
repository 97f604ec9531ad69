"""A trace read as a story: each call once, with its two sides, the effects inside it, and what its death lost.

A `Column` is one place on the way from left to right: a call with both sides when nobody came between, half a call
when somebody did, an effect that landed late, starts, an end. Nothing of the trace is dropped or put in another order.

Not handled here: drawing a transaction as one call (see `picture_pack`), leaving out the dull parts (see `picture_fold`)
and the places on the page (see `picture_layout`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from labkit.faults.trace import Line, Trace
from labkit.plural import counted

AGAIN = re.compile(r"(^|[\s,;(]+)again\)?$")
WRITES = re.compile(r"^(?!\s*select\b).*\b(insert|update|delete|replace|merge|upsert)\b", re.IGNORECASE | re.DOTALL)
SECONDS = re.compile(r"-?\d+(\.\d+)?")  # what the note of a deadline holds, counted from the note


@dataclass(eq=False)
class Call:
    """One call out of a process; `after` is None when nobody came back from it, `last` ends a transaction in one mark."""

    process: str
    number: int
    boundary: str
    label: str
    before: Line | None = None
    after: Line | None = None
    effects: int = 0
    last: int = 0
    ended: str = ""  # what became of the transaction behind this statement, where no call says so

    @property
    def numbers(self) -> str:
        """Its number, or 3-5 for the calls of a transaction."""
        return f"{self.number}\N{EN DASH}{self.last}" if self.last else str(self.number)

    @property
    def happened(self) -> bool:
        return self.after is not None or self.effects > 0

    @property
    def torn(self) -> bool:
        """Whether its process died inside of it, with a part of it done."""
        return self.before is not None and side_of(self.before) == "inside"


@dataclass(frozen=True)
class Effect:
    """A line of the ledger: `count` says how often this call has changed the world by now."""

    line: Line
    count: int
    again: bool

    @property
    def key(self) -> str:
        name = AGAIN.sub("", self.line.text).strip().removeprefix("key=")
        return "no key" if name in ("", "None") else f"key {name}"


@dataclass(eq=False)
class Column:
    """What stands at one place of the story; `lost` says what a fault here cost."""

    process: str = ""
    starts: list[Line] = field(default_factory=list)
    call: Call | None = None
    before: Line | None = None
    inside: list[Line] = field(default_factory=list)  # between the sides of a transaction that is one mark
    effect: Effect | None = None
    after: Line | None = None
    end: Line | None = None
    note: Line | None = None
    lost: str = ""

    def lines(self) -> Iterator[Line]:
        """The trace's lines that stand here, in order."""
        yield from self.starts
        effect = self.effect.line if self.effect else None
        yield from (line for line in (self.before, *self.inside, effect, self.after, self.end, self.note) if line)

    @property
    def calls(self) -> int:
        """How many calls begin here."""
        if self.before is None or self.call is None:
            return 0
        return 1 + max(0, self.call.last - self.call.number)

    @property
    def faults(self) -> list[Line]:
        return [line for line in self.lines() if line.fault]

    @property
    def death(self) -> Line | None:
        """The line at which the process died here."""
        deadly = [line for line in self.faults if re.match(r"(crash|torn)\b", line.fault)]
        if self.end is not None and self.end.label == "crashed":
            return (self.faults or [self.end])[-1]
        return deadly[-1] if deadly else None


@dataclass
class Story:
    """All of a trace, in columns. `remarks` are about the run as a whole; `due` is the second of its deadline."""

    token: str
    columns: list[Column] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    broken: list[Line] = field(default_factory=list)
    remarks: list[Line] = field(default_factory=list)
    due: float | None = None

    @property
    def calls(self) -> int:
        return sum(column.calls for column in self.columns)

    @property
    def has_cloud(self) -> bool:
        return any(c.effect or (c.call and c.call.boundary == "cloud") for c in self.columns)


def read(trace: Trace) -> Story:
    """The story of a trace."""
    reader = _Reader(trace)
    for line in trace.lines:
        reader.take(line)
    _end_transactions(reader.story.columns)
    return reader.story


def side_of(line: Line) -> str:
    """Where at a call a fault struck: before it, after it, or inside of it, for a write that got only so far."""
    return "inside" if line.fault.startswith("torn") else line.side


def _end_transactions(columns: list[Column]) -> None:
    """Say where a transaction without a COMMIT ended: at the latest when its process began the next, or came to its end."""
    under_way: dict[str, list[Call]] = {}
    for column in columns:
        call = column.call if column.before is not None else None
        verb = call.label.lower() if call is not None and call.boundary == "sql" else ""
        over = verb.startswith("begin") or (column.end is not None and column.end.label in ("returned", "raised"))
        if over and len(calls := under_way.pop(column.process, [])) > 1:
            wrote = any(WRITES.match(each.label) for each in calls)
            calls[-1].ended = "rolled back" if wrote else "the read ends"
        if call is not None and verb.startswith("begin"):
            under_way[column.process] = [call]
        elif verb.startswith(("commit", "rollback")):
            under_way.pop(column.process, None)
        elif call is not None and verb and column.process in under_way:
            under_way[column.process].append(call)


class _Reader:
    def __init__(self, trace: Trace) -> None:
        self.story = Story(trace.token)
        self.open: dict[str, Call] = {}
        self.changes: Counter[str] = Counter()
        self.unrecorded: set[str] = set()  # processes with an effect that they have not written down
        self.inside: set[str] = set()  # processes in a transaction that they began themselves
        self.wrote: set[str] = set()  # processes with a write that is not committed
        labels = [line.label.lower() for line in trace.lines if line.kind == "cross"]
        self.begins = any(label.startswith("begin") for label in labels)
        self.commits = any(label.startswith("commit") for label in labels)
        self.replaces = any(label.startswith("replace") for label in labels)

    def take(self, line: Line) -> None:
        if line.kind == "broken":
            self.story.broken.append(line)
            return
        if line.process and line.process not in self.story.processes and line.kind != "effect":
            self.story.processes.append(line.process)
        kind = line.side if line.kind == "cross" else line.kind
        known = (self.start, self.before, self.after, self.effect, self.end)
        next((reader for reader in known if reader.__name__ == kind), self.note)(line)

    def start(self, line: Line) -> None:
        column = self.last
        self.unrecorded.discard(line.process)
        self.open.pop(line.process, None)
        alike = all(other.process != line.process and other.time == line.time for other in column.starts)
        if not column.starts or not alike:
            column = self.add(Column())
        column.starts.append(line)

    def before(self, line: Line) -> None:
        call = Call(line.process, line.number, line.boundary, line.label, before=line)
        self.open[line.process] = call
        self.add(Column(line.process, call=call, before=line))

    def after(self, line: Line) -> None:
        call = self.open.pop(line.process, None)
        if call is None or call.number != line.number:
            call = Call(line.process, line.number, line.boundary, line.label)
        column = self.last if self.last.call is call else self.add(Column(line.process, call=call))
        call.after = column.after = line
        self.record(line)
        if line.fault.startswith("timeout") and call.effects:
            column.lost = "effect done, answer lost"

    def effect(self, line: Line) -> None:
        again = bool(AGAIN.search(line.text))
        self.changes[line.label] += not again
        call, column = self.open.get(line.process), self.last
        if call is None or column.call is not call or column.effect:
            column = self.add(Column(line.process, call=call))
        column.effect = Effect(line, max(1, self.changes[line.label]), again)
        if not again:
            self.unrecorded.add(line.process)
        if call is not None:
            call.effects += 1

    def end(self, line: Line) -> None:
        crashed = line.label == "crashed"
        here = crashed and self.last.process == line.process and bool(self.last.faults)
        column = self.last if here else self.add(Column(line.process))
        column.end = line
        torn = re.match(r"torn\((\d+)\)", column.faults[-1].fault) if here else None
        if torn:
            column.lost = f"{counted(int(torn[1]), 'byte')} written, then it died"
        elif crashed and line.process in self.unrecorded:
            column.lost = "effect done, record lost"

    def note(self, line: Line) -> None:
        if line.label == "deadline" and SECONDS.fullmatch(line.text):
            due = line.time + float(line.text)
            self.story.due = due if self.story.due is None else self.story.due  # it is set once
        elif line.process:
            self.add(Column(line.process, note=line))
        else:
            self.story.remarks.append(line)

    def record(self, line: Line) -> None:
        """A committed write, or a written file, counts as the record of the effects before it."""
        verb = line.label.lower()
        if line.boundary == "file" and verb.startswith("replace" if self.replaces else "write"):
            self.unrecorded.discard(line.process)
        if line.boundary != "sql":
            return
        if verb.startswith(("begin", "commit", "rollback")):
            if verb.startswith("commit") and line.process in self.wrote:
                self.unrecorded.discard(line.process)
            self.wrote.discard(line.process)
            (self.inside.add if verb.startswith("begin") else self.inside.discard)(line.process)
        elif WRITES.match(verb):
            self.wrote.add(line.process)
            # subtle: without a BEGIN of its own a statement is its own transaction, unless the driver begins unseen
            if line.process not in self.inside and (self.begins or not self.commits):
                self.unrecorded.discard(line.process)

    @property
    def last(self) -> Column:
        return self.story.columns[-1] if self.story.columns else Column()

    def add(self, column: Column) -> Column:
        self.story.columns.append(column)
        return column
