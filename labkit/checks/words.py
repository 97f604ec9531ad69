"""A check's report in words, the same for the command line and for a notebook's plain text.

Not handled here: colours and pictures (see `lab`).
"""

from __future__ import annotations

from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, UNUSABLE, CheckReport, Judged

MARKS = {HOLDS: "ok", BROKEN: "XX"}

MOST_PRINTED = 20  # lines

WHAT_NEXT = {
    NOT_ATTEMPTED: "nothing to judge yet: replace the `...` in the answer and check again",
    UNUSABLE: "the answer could not be run",
}


def headline(report: CheckReport) -> str:
    """One line: which exercise, which verdict, and why where that is short."""
    said = report.message or WHAT_NEXT.get(report.verdict, "")
    if report.verdict in WHAT_NEXT:
        return f"{report.exercise}: {report.verdict} - {said}"
    held = sum(one.verdict == HOLDS for one in report.properties)
    return f"{report.exercise}: {report.verdict} - {held} of {len(report.properties)} properties hold"


def of_property(one: Judged) -> str:
    """One line that holds, or several that say what broke, why that happens and how to see it again."""
    line = f"  {MARKS.get(one.verdict, '??')}  {one.name}"
    if one.verdict == HOLDS:
        return f"{line}: {one.claim}"
    more = [f"{line}: {one.message}"]
    more += [f"        likely cause: {one.diagnosis}"] if one.diagnosis else []
    more += [f"        see it again: labkit replay '{one.token}'"] if one.token else []
    return "\n".join(more)


def printed(report: CheckReport) -> list[str]:
    """The first lines of what the answer printed."""
    return report.output.splitlines()[:MOST_PRINTED]


def whole(report: CheckReport) -> str:
    """Everything that a person needs to see next. Holds no seconds and nothing of the machine."""
    parts = [headline(report), *map(of_property, report.properties)]
    if report.certificate:
        parts.append(f"  {report.certificate}")
    if report.properties and report.message:
        parts.append(f"  {report.message}")
    if report.output:
        parts.append("  your answer printed:\n" + "\n".join(f"    {line}" for line in printed(report)))
    return "\n".join(parts)
