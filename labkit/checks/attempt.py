"""One attempt at an exercise, the same from a notebook and from the command line: find the answer, check it, remember that it passed.

An answer that cannot be found is a report too (`unusable`), never an error; and a pass that cannot be written down is a pass.

Not handled here: where the answer is looked for, and how the report is shown (see `command` and `lab`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit import workfolder
from labkit.checks import registry
from labkit.checks.judge import HOLDS, UNUSABLE, CheckReport
from labkit.checks.run import run_check
from labkit.errors import UsageError


def attempt(exercise: str, find: Callable[[], str], **options: Any) -> CheckReport:
    """Check the answer that `find` returns; `options` are those of `run_check`. Raises `UsageError` only for an unknown exercise."""
    registry.find(exercise)
    try:
        source = find()
    except UsageError as error:
        return CheckReport(exercise, UNUSABLE, message=str(error))
    report = run_check(exercise, source, **options)
    if report.verdict == HOLDS:
        report.unrecorded = _remember(exercise)
    return report


def _remember(exercise: str) -> str:
    """Remember the pass; where that cannot be, why not: no verdict is lost over it."""
    try:
        workfolder.mark_passed(exercise)
    except OSError as error:
        return f"not recorded: {error.filename}: {error.strerror}" if error.filename else f"not recorded: {error}"
    return ""
