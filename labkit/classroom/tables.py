"""The gradebook as files for other programs: CSV for a spreadsheet, JSON lines with every detail, Gradescope's results, JUnit.

Equal gradebooks give equal bytes. Text from outside can neither become a formula in a spreadsheet nor break a line or an element.

Not handled here: pages for people (see `pages`).
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from labkit.checks.judge import NOT_ATTEMPTED
from labkit.checks.texts import printable
from labkit.classroom.gradebook import MISSING, Entry, Gradebook, Row
from labkit.classroom.nbval_run import BLOCKED, ERROR, PASSED, TAMPERED, TIMEOUT
from labkit.classroom.points import Share

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the begin of one
SKIPPED = (NOT_ATTEMPTED, MISSING, BLOCKED)

ODD = (ERROR, TIMEOUT, TAMPERED)  # states that nobody expects


def grades(book: Gradebook) -> bytes:
    """One row per learner: points per exercise, their sum, how many there could be, and what somebody should look at."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["learner", *book.exercises, "total", "max", "flags"])
    for row in book.rows:
        points = [number(row.entries[exercise].points) for exercise in book.exercises]
        table.writerow([_text(row.learner), *points, number(row.points), row.most, _text("; ".join(flags_of(row)))])
    return out.getvalue().encode()


def flags_of(row: Row) -> list[str]:
    """The kinds of flags of one learner, each with the exercise that it concerns, and each state that nobody expects."""
    odd = [f"{one.exercise}: {one.state}" for one in row.entries.values() if one.state in ODD]
    public = [f"{one.exercise}: public {one.public}" for one in row.entries.values() if one.public not in ("", PASSED)]
    found = [f"{one.exercise}: {flag.kind}" for one in row.entries.values() for flag in one.flags]
    return list(dict.fromkeys([*(flag.kind for flag in row.flags), *odd, *public, *found]))


def details(book: Gradebook) -> bytes:
    """One JSON object per learner and exercise, with each property and its points' reason."""
    lines = [{**book.how, "learner": row.learner, **_detail(entry)} for row in book.rows for entry in row.entries.values()]
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines).encode()


def _detail(entry: Entry) -> dict[str, Any]:
    data = entry.to_data()
    report = data.pop("report") or {}
    data.pop("picture")
    data["shares"] = [{**asdict(one), "points": one.points} for one in entry.shares]
    kept = {key: report.get(key) for key in ("verdict", "properties", "certificate", "schedules", "message", "output")}
    return data | kept | {"databases": report.get("databases") or []}


def gradescope(row: Row) -> bytes:
    """One learner's results in the form that Gradescope reads."""
    tests = [
        {
            "name": entry.exercise,
            "score": entry.points,
            "max_score": entry.most,
            "status": "passed" if entry.state == PASSED else "failed",
            "output": printable("\n".join([entry.reason, *map(_in_words, entry.shares)])),
        }
        for entry in row.entries.values()
    ]
    data = {"score": row.points, "tests": tests, "output_format": "text", "stdout_visibility": "hidden"}
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()


def _in_words(share: Share) -> str:
    return f"points for {share.name}: {number(share.points)} of {number(share.most)}, {len(share.held)} of {len(share.properties)} hold"


def junit(book: Gradebook) -> bytes:
    """The class as JUnit: a suite per learner, a case per exercise. Holds no times."""
    suites = "".join(_suite(row) for row in book.rows)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{suites}</testsuites>\n'.encode()


def _suite(row: Row) -> str:
    entries = list(row.entries.values())
    errors, skipped = (sum(e.state in states for e in entries) for states in ((ERROR, TIMEOUT), SKIPPED))
    failures = len(entries) - errors - skipped - sum(e.state == PASSED for e in entries)
    counts = f'tests="{len(entries)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    cases = "".join(_case(row, entry) for entry in entries)
    return f" <testsuite name={_attribute(row.learner)} {counts}>\n{cases} </testsuite>\n"


def _case(row: Row, entry: Entry) -> str:
    where = f"  <testcase classname={_attribute(row.learner)} name={_attribute(entry.exercise)}"
    if entry.state == PASSED:
        return f"{where}/>\n"
    kind = "error" if entry.state in (ERROR, TIMEOUT) else "skipped" if entry.state in SKIPPED else "failure"
    said = f"<{kind} message={_attribute(entry.state)}>{_xml(entry.reason)}</{kind}>"
    return f"{where}>{said}</testcase>\n"


def number(points: float) -> str:
    """Points as one writes them: no .0, at most two places."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def _text(said: str) -> str:
    """A cell of a spreadsheet that stays a text."""
    shown = printable(said).replace("\n", "\\n").replace("\t", "\\t")
    return f"'{shown}" if shown.startswith(FORMULA) else shown


def _xml(said: str) -> str:
    return escape(printable(said)).replace("\ufffe", "?").replace("\uffff", "?")


def _attribute(said: str) -> str:
    return quoteattr(printable(said).replace("\ufffe", "?").replace("\uffff", "?"))
