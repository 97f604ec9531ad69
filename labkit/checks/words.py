"""A check's report in words, the same for the command line and for a notebook's plain text.

Not handled here: colours and pictures (see `lab`).
"""

from __future__ import annotations

import shlex
from collections import Counter

from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, UNUSABLE, CheckReport, Judged
from labkit.checks.slips import OWN_ERROR
from labkit.plural import counted

MARKS = {HOLDS: "ok", BROKEN: "XX"}

MOST_PRINTED = 20  # lines

WHAT_NEXT = {
    NOT_ATTEMPTED: "replace the `...` in the answer and check again",
    NOT_EXERCISED: "make the answer do what the lines with ?? ask for, and check again",
    BROKEN: "mend the line with XX, and check again",
}


FIRST_OF_MANY = "mend the first line with XX, others often go with it, and check again"

TALLY = (  # verdict on a property, how one says it of one and of more
    (HOLDS, "holds", "hold"),
    (BROKEN, "is broken", "are broken"),
    (NOT_EXERCISED, "was not tested", "were not tested"),
)


def in_words(verdict: str) -> str:
    """A verdict as one says it: its name is one word for machines."""
    return verdict.replace("_", " ")


def likely_cause(one: Judged) -> str:
    """The diagnosis, where it says more than the message; "" where it does not."""
    return "" if one.diagnosis in one.message or one.diagnosis == OWN_ERROR else one.diagnosis


def headline(report: CheckReport) -> str:
    """One line: which exercise, which verdict, and why where that is short."""
    if report.verdict in (NOT_ATTEMPTED, UNUSABLE):
        return f"{report.exercise}: {in_words(report.verdict)} - {report.message}"
    return f"{report.exercise}: {in_words(report.verdict)} - {tally(report)}"


def tally(report: CheckReport) -> str:
    """How many properties hold, how many are broken and how many were not tested: what was not tested is not broken."""
    count, whole = Counter(one.verdict for one in report.properties), len(report.properties)
    if count[HOLDS] == whole:
        return f"{whole} of {whole} properties hold"
    parts: list[str] = []
    for verdict, one, many in TALLY:
        noun = ("", "") if parts else ("property ", "properties ")
        parts += [counted(count[verdict], noun[0] + one, noun[1] + many)] if count[verdict] else []
    return ", ".join(parts)


def aside(report: CheckReport) -> list[str]:
    """What the verdict leaves out, as a line right below it."""
    return [f"  {report.message}"] if report.properties and report.message else []


def of_property(one: Judged, file: str = "") -> str:
    """One line that holds, or several that say what broke, why that happens and how to see it again, with the answer in `file`."""
    line = f"  {MARKS.get(one.verdict, '??')}  {one.name}"
    if one.verdict == HOLDS:
        return f"{line}: {one.claim}"
    more = [f"{line}: {one.message}"]
    more += [f"        likely cause: {likely_cause(one)}"] if likely_cause(one) else []
    more += [f"        see it again: {replay(one.token, file)}"] if one.token else []
    return "\n".join(more)


def replay(token: str, file: str = "") -> str:
    """The command that shows a run again, with the answer in `file`; "" for the notebook in the work folder."""
    return f"labkit replay '{token}'" + (f" {shlex.quote(file)}" if file else "")


def printed(report: CheckReport) -> list[str]:
    """The first lines of what the answer printed, and how many there are besides."""
    lines = report.output.splitlines()
    left = len(lines) - MOST_PRINTED
    return lines[:MOST_PRINTED] + ([f"... (and {counted(left, 'more line')})"] if left > 0 else [])


def whole(report: CheckReport, file: str = "", *, stuck: str = "") -> str:
    """Everything that a person needs to see next; `file` is the answer's, where it was named, and `stuck` how one asks for a hint here.

    Holds no seconds and nothing of the machine.
    """
    parts = [headline(report), *aside(report), *(of_property(one, file) for one in report.properties)]
    if report.certificate:
        parts.append(f"  {report.certificate}")
    if report.output:
        parts.append("  your answer printed:\n" + "\n".join(f"    {line}" for line in printed(report)))
    if report.verdict in WHAT_NEXT:
        now = FIRST_OF_MANY if report.many_broken else WHAT_NEXT[report.verdict]
        parts.append(f"  next: {now}; stuck? {stuck or f'labkit hint {report.exercise}'}")
    return "\n".join(parts)
