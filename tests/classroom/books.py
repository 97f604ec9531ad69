"""Small gradebooks for the tests of what is made of them."""

from labkit.checks import registry
from labkit.checks.judge import BROKEN, HOLDS, NOT_EXERCISED, CheckReport, Judged
from labkit.classroom.gradebook import Entry, Gradebook, Row


def judged(*verdicts):
    """Properties one, two, ... with these verdicts, and `ends`, which holds."""
    names = ("one", "two", "three", "four")
    made = [
        Judged(
            name,
            verdict,
            "" if verdict == HOLDS else f"{name} was seen to fail",
            diagnosis="" if verdict != BROKEN else f"forgets {name}",
            claim=f"claim {name}",
        )
        for name, verdict in zip(names, verdicts, strict=False)
    ]
    return [*made, Judged("ends", HOLDS, claim="every call ends")]


def report(*verdicts, exercise="retry", output=""):
    """A check's report with these verdicts, and the overall one that follows."""
    overall = BROKEN if BROKEN in verdicts else NOT_EXERCISED if NOT_EXERCISED in verdicts else HOLDS
    return CheckReport(exercise, overall, judged(*verdicts), "8 schedules", 8, ["sqlite"], 1.5, output=output)


def settled(*verdicts, exercise="retry", most=8):
    entry = Entry(exercise, most)
    entry.settle(report(*verdicts, exercise=exercise))
    return entry


def book(**learners):
    """A gradebook with these learners, each a list of entries."""
    rows = [Row(name, {entry.exercise: entry for entry in entries}) for name, entries in sorted(learners.items())]
    exercises = list(rows[0].entries) if rows else [registry.IDS[1]]
    return Gradebook(rows, exercises, [], {"seed": "1", "isolation": "process"})
