"""The ledger of a class: for each learner one entry per exercise that was asked for, 0 with a reason until something is known.

Points come from the hidden pass alone, on the fixed examples and on those drawn from the seed. No entry is ever missing or doubled, and none is below 0
or above its points. What the public pass said is told beside it and gives no points.

Not handled here: how many points a report is worth (see `points`), where reports come from (see `hidden`, `public`), and how they are written down (see
`tables`, `pages`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from labkit.checks.judge import HOLDS, NOT_ATTEMPTED, TOO_SLOW, UNUSABLE, CheckReport, Judged
from labkit.checks.words import in_words, tally
from labkit.classroom.assignments import Assignment
from labkit.classroom.nbval_run import BLOCKED, ERROR, FAILED, PASSED, TAMPERED, TIMEOUT
from labkit.classroom.points import Share, earned, shares
from labkit.classroom.submission import Flag

MISSING = "missing"
STATES = (PASSED, FAILED, ERROR, TIMEOUT, BLOCKED, NOT_ATTEMPTED, MISSING, TAMPERED)
NOTHING_CAME = "nothing was handed in for it"
WITHOUT_END = ("never ends", TOO_SLOW)  # diagnoses


@dataclass
class Entry:
    """One exercise of one learner. `points` of `most`; `reason` says why they are not all."""

    exercise: str
    most: int
    state: str = MISSING
    points: float = 0.0
    reason: str = NOTHING_CAME
    file: str = ""  # in which the answer was found
    rule: str = ""  # by which it was found there
    public: str = ""  # the state of the public pass, "" where it was not run
    public_reason: str = ""
    report: CheckReport | None = None
    picture: str = ""  # of the simplest run that breaks it, as markup
    isolation: str = ""  # the level that was in force
    flags: list[Flag] = field(default_factory=list)

    def settle(self, report: CheckReport, tampered: str = "") -> None:
        """Take what the hidden pass found out; `tampered` says how the answer reached for its judge, "" for not at all."""
        report.seconds = 0.0  # subtle: equal input gives equal bytes
        self.report, self.state = report, TAMPERED if tampered else state_of(report)
        self.reason = tampered or reason_of(report)
        self.points = 0.0 if tampered else earned(report, self.most)

    @property
    def shares(self) -> list[Share]:
        """How the points of an answer that is not right come about; empty for one that is, or that earns nothing for what it did."""
        return [] if self.report is None or self.state == TAMPERED else shares(self.report, self.most)

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Entry:
        """The other way round, for what an earlier grader of the same input left."""
        report = data["report"]
        if report is not None:
            report = CheckReport(**{**report, "properties": [Judged(**one) for one in report["properties"]]})
        return cls(**{**data, "report": report, "flags": [Flag(**one) for one in data["flags"]]})


@dataclass
class Row:
    """One learner: an entry for each exercise, in the order of the masters, and what concerns all of what was handed in."""

    learner: str
    entries: dict[str, Entry]
    flags: list[Flag] = field(default_factory=list)

    @property
    def points(self) -> float:
        return round(sum(entry.points for entry in self.entries.values()), 2)

    @property
    def most(self) -> int:
        return sum(entry.most for entry in self.entries.values())

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Row:
        entries = {exercise: Entry.from_data(one) for exercise, one in data["entries"].items()}
        return cls(data["learner"], entries, [Flag(**one) for one in data["flags"]])


@dataclass
class Gradebook:
    """All rows, sorted by learner, the files that fit nobody, and how it was graded."""

    rows: list[Row]
    exercises: list[str]
    strays: list[str]
    how: dict[str, str]  # what else decides about the result: seed, databases, isolation, version


def expected(learner: str, assignments: Iterable[Assignment]) -> Row:
    """The row of a learner of whom nothing is known yet."""
    entries = {exercise: Entry(exercise, most) for one in assignments for exercise, most in one.points.items()}
    return Row(learner, entries)


def state_of(report: CheckReport) -> str:
    """The state that a verdict means in a gradebook."""
    if report.verdict in (NOT_ATTEMPTED, UNUSABLE):
        return {NOT_ATTEMPTED: NOT_ATTEMPTED, UNUSABLE: ERROR}[report.verdict]
    if report.verdict == HOLDS:
        return PASSED
    endless = any(one.diagnosis in WITHOUT_END for one in report.properties)
    return TIMEOUT if endless else FAILED


def reason_of(report: CheckReport) -> str:
    """One line on why it is not the whole: what broke first, or what is missing."""
    if report.verdict == HOLDS:
        return ""
    first = report.first_broken or next((one for one in report.properties if one.verdict != HOLDS), None)
    if first is None:
        return report.message or in_words(report.verdict)
    return f"{tally(report)}; {first.name}: {first.message}"
