"""The hidden pass: an answer judged by the grader's own process, in a box, with a seed that nobody knew.

The checks' three parts are used as they are: the host runs in the box, its words are judged out here. What holds is then witnessed (see `witness`):
the swept cases are run again in a world of the grader's own, and a host that was tampered with is caught where it said otherwise. What an answer does
to the process it runs in is noticed besides (see `tampering`). Either makes the answer `tampered`, with one sentence that says how.

Not handled here: points (see `gradebook`), and an answer without a database (retry, backoff, deadline, patch, context) or run by several at once
(claim, lease, backpressure) that deceives its host by a way that `tampering` does not see: nothing outside holds what it did.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from labkit.checks import registry
from labkit.checks.exercise import SQL, Exercise
from labkit.checks.judge import HOLDS, CheckReport
from labkit.checks.listening import FORGED, PATIENCE, Patience
from labkit.checks.run import run_check
from labkit.checks.texts import printable
from labkit.classroom.box import Box
from labkit.classroom.tampering import TAMPERS
from labkit.classroom.witness import RememberingJury, Witness, Witnessed

PATIENCE_OF_A_GRADER = replace(PATIENCE, for_red=60.0)  # what is tested after the first red earns points, too


@dataclass(frozen=True)
class HiddenResult:
    """What the hidden pass found. `tampered` is one sentence, "" for an answer that left its host alone; `isolation` the level that was in force."""

    report: CheckReport
    tampered: str
    isolation: str
    databases: tuple[str, ...]
    witnessed: int = 0  # runs in a world of the grader's own
    unwitnessed: str = ""  # why there could be none, where there should have been some


def judge_hidden(
    exercise: str, source: str, *, seed: int, box: Box, databases: tuple[str, ...] = SQL, patience: Patience = PATIENCE_OF_A_GRADER
) -> HiddenResult:
    """Judge one answer. Raises `UsageError` for an unknown exercise, and where the box cannot reach a database that was asked for."""
    asked = registry.find(exercise, seed)
    juries: list[RememberingJury] = []

    def jury(*arguments: object, **options: object) -> RememberingJury:
        juries.append(RememberingJury(*arguments, **options))
        return juries[-1]

    report = run_check(exercise, source, databases=databases, nursery=box.nursery, patience=patience, seed=seed, jury=jury)
    tampered, seen = _tampered(report), Witnessed()
    if report.verdict == HOLDS and not tampered:
        seen = _witness(asked, source, seed, box, databases, juries[-1].tested, patience)
        tampered = seen.lie
    return HiddenResult(report, printable(tampered), box.level, tuple(report.databases), seen.runs, printable(seen.missing))


def _tampered(report: CheckReport) -> str:
    """What the host noticed, or what it said in a way that no host says it; "" for neither."""
    for one in report.properties:
        for sign in (TAMPERS, FORGED):
            if sign in one.message:
                return one.message[one.message.index(sign) :]
    return FORGED if FORGED in report.message else ""


def _witness(
    asked: Exercise, source: str, seed: int, box: Box, databases: tuple[str, ...], tested: dict[str, frozenset[str]], patience: Patience
) -> Witnessed:
    """On one database, the one that is cheapest to ask; nothing where there is none to look at."""
    for database in [one for one in asked.databases if one in databases][:1]:
        rng = Random(f"witness {seed}/{asked.id}/{database}")
        return Witness(asked, source, box.walls, database, tested, rng, patience).look()
    return Witnessed()
