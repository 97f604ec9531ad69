"""What happened in a run, line by line, the same bytes in every replay.

A `Trace` is the record of one run of one schedule: which process crossed which boundary, on which side, at which virtual second, what
fault sat there, what the outside world did, how each process ended and which invariant broke. It is plain data, goes to JSON lines and
back, and holds nothing of the machine: no addresses, no wall-clock times, no random ids.

Not handled here: how it looks (see `picture`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

UUID = re.compile(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Line:
    """One thing that happened.

    `kind` is one of
    - `start`: a process begins (`label` says in which role)
    - `cross`: a boundary is crossed: `number` counts the calls of the process from 1, `side` is before or after
    - `effect`: the outside world changed (`label` is the call, `text` its key) or answered from its ledger (`text` ends with "again")
    - `note`: what a process told the record (`label`, `text`)
    - `end`: how the process ended (`label` is returned, raised, crashed, hung or endless; `text` says more)
    - `broken`: an invariant that does not hold at the end (`label` is its name, `text` says why)
    """

    kind: str
    process: str = ""
    time: float = 0.0  # virtual seconds since the story began
    number: int = 0
    side: str = ""
    boundary: str = ""  # sql, clock, http, file, cloud
    label: str = ""
    fault: str = ""  # as in a token: crash, timeout, late(30)
    text: str = ""

    def __str__(self) -> str:
        where = f"{self.process}@{self.number}.{self.side}" if self.kind == "cross" else f"{self.process} {self.kind}"
        what = f"{self.boundary} {self.label}".strip()
        fault = f"   <-- {self.fault}" if self.fault else ""
        return f"{self.time:8.1f}s  {where:<14} {what}{f'  ({self.text})' if self.text else ''}{fault}"


@dataclass(frozen=True)
class Trace:
    """One run of one schedule. `token` replays it; two runs of one token give equal traces, to the byte."""

    token: str
    lines: tuple[Line, ...] = ()

    @property
    def broken(self) -> str | None:
        """Why the run is not fine, or None."""
        return next((line.text for line in self.lines if line.kind == "broken"), None)

    @property
    def processes(self) -> list[str]:
        """The processes in the order in which they began."""
        return [line.process for line in self.lines if line.kind == "start"]

    def with_broken(self, found: Iterable[tuple[str, str]]) -> Trace:
        """The same trace with (invariant, why) written at its end."""
        last = self.lines[-1].time if self.lines else 0.0
        return replace(self, lines=self.lines + tuple(Line("broken", time=last, label=name, text=why) for name, why in found))

    def to_jsonl(self) -> str:
        """One JSON object a line; the first holds the token. Empty fields are left out."""
        rows: list[dict[str, object]] = [{"token": self.token}]
        rows += [{name: value for name, value in asdict(line).items() if value not in ("", 0)} for line in self.lines]
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    @classmethod
    def from_jsonl(cls, text: str) -> Trace:
        """The inverse of `to_jsonl`."""
        head, *rows = [json.loads(row) for row in text.split("\n") if row]  # subtle: splitlines breaks inside a text too
        return cls(head["token"], tuple(Line(**row) for row in rows))

    def __repr__(self) -> str:
        crossings = sum(line.kind == "cross" for line in self.lines)
        return f"<Trace {self.token}: {len(self.processes)} processes, {crossings} crossings, {self.broken or 'fine'}>"

    def __str__(self) -> str:
        return "\n".join([self.token, *map(str, self.lines)])

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        """The picture, and the same in plain text for viewers that show no HTML."""
        from labkit.faults import picture  # loaded only where somebody looks

        return {"text/plain": picture.text(self), "text/html": picture.svg(self)}
