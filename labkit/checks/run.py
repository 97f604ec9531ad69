"""From an answer to a report: start the host in a child, listen, judge.

The child comes from a warm parent, so a check costs no start of Python. There is one child for each database, and none for the next one once something is
broken. PostgreSQL databases are made and dropped on this side, so a killed child leaves none behind.

Not handled here: how long one listens (see `listening`), printing (see `command` and `lab`), and one run again (see `replay`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from labkit.checks import imports, registry
from labkit.checks.answer import Forbidden, NotAttempted, look
from labkit.checks.cells import place
from labkit.checks.exercise import SQL, Exercise
from labkit.checks.judge import BROKEN, NOT_ATTEMPTED, UNUSABLE, CheckReport, Judged, Jury, overall
from labkit.checks.kill import kills
from labkit.checks.listening import PATIENCE, Heard, Patience, hear, listen
from labkit.checks.slips import OWN_ERROR
from labkit.clock import SystemClock
from labkit.errors import PostgresUnavailable, UsageError
from labkit.faults.folder import new_folder
from labkit.faults.nursery import Nursery

NURSERY = Nursery(["labkit.checks.kill", "labkit.checks.registry:every", "labkit.checks.imports:load_names", "labkit.faults.warming:warm"])


@cache
def nursery_with(preload: str) -> Nursery:
    """The warm parent for exercises that need this loaded as well ("" for nothing): one for all of them."""
    return Nursery([*NURSERY.preload, preload]) if preload else NURSERY


def run_check(
    exercise: str,
    source: str,
    *,
    databases: tuple[str, ...] = SQL,
    engine: str = "",
    seed: int | None = None,
    nursery: Nursery | None = None,
    patience: Patience = PATIENCE,
    told: Callable[[object], object] = lambda heard: None,
    jury: Callable[..., Jury] = Jury,
) -> CheckReport:
    """Check an answer. `databases` are those to use where the exercise needs one; `told` hears, again and again, how far it is.

    With a `seed` cases are run as well whose inputs are drawn from it, for answers that know the fixed ones by heart. Raises `UsageError` only for an
    unknown exercise and for what is no seed.
    """
    clock = SystemClock()
    began = clock.monotonic()
    asked = registry.find(exercise, seed)
    heard = Heard(asked, jury(asked, partial(place, source)), told)
    warm = nursery or nursery_with(asked.preload)
    report = _looked_at(asked, source) or _unusable_server(asked, databases) or _check(heard, source, databases, engine, warm, patience, seed)
    report.seconds = round(clock.monotonic() - began, 3)
    return report.printable()


def _looked_at(asked: Exercise, source: str) -> CheckReport | None:
    """The report on what need not be run to be judged, or None."""
    try:
        look(source, asked)
    except NotAttempted as error:
        return CheckReport(asked.id, NOT_ATTEMPTED, message=str(error))
    except Forbidden as error:
        return _forbidden(asked, str(error))
    except UsageError as error:
        return CheckReport(asked.id, UNUSABLE, message=str(error))
    missing = lacking(asked)
    return CheckReport(asked.id, UNUSABLE, message=missing) if missing else None


def lacking(asked: Exercise) -> str:
    """What an exercise needs that is not installed, as a sentence; "" for nothing."""
    missing = [name for name in asked.needs if find_spec(name) is None]
    return f"the exercise {asked.id} needs what is not installed here: pip install {' '.join(missing)}" if missing else ""


def _unusable_server(asked: Exercise, databases: tuple[str, ...]) -> CheckReport | None:
    """The report on a server that was named and cannot be used: not to be passed over, and said before anything is run."""
    if "postgres" not in _rounds(asked, databases):
        return None
    from labkit.postgres import look_at_named_server

    try:
        look_at_named_server()
    except PostgresUnavailable as error:
        return CheckReport(asked.id, UNUSABLE, message=str(error))
    return None


def _check(
    heard: Heard, source: str, databases: tuple[str, ...], engine: str, nursery: Nursery, patience: Patience, seed: int | None
) -> CheckReport:
    used: list[str] = []
    missing = ""
    for database in _rounds(heard.exercise, databases):
        try:
            _round(heard, source, database, engine, nursery, patience, seed)
        except PostgresUnavailable as error:
            missing = f"not exercised on postgres: {error}"
            if error.named or databases == ("postgres",):
                heard.unusable = missing
            continue
        used += [database] if database else []
        if heard.over:
            break
    return _conclude(heard, used, missing, _tested(heard.exercise, databases))


def _round(
    heard: Heard, source: str, database: str, engine: str, nursery: Nursery, patience: Patience, seed: int | None
) -> None:
    """All cases on one database."""
    job = {"source": source, "database": database}
    with (nursery.room or room)(database) as (url, folder):
        listen(heard, nursery, patience, **job, url=url, engine=engine, folder=str(folder), seed=seed)
    if engine == "kill" and heard.ended_well and (patience.for_more or not heard.over):
        with (nursery.room or room)(database) as (url, folder):
            killed = kills(heard.exercise, nursery, patience.stall, patience.total, **job, url=url, folder=folder)
            with closing(killed) as words:
                hear(heard, patience, words)


def _tested(asked: Exercise, databases: tuple[str, ...]) -> set[str]:
    """The properties that some case on these databases looks at: of the others nothing is said to who asked for one database alone."""
    cases = [case.name for database in _rounds(asked, databases) for case in asked.cases_on(database)]
    return {prop.name for prop in asked.properties if any(map(prop.looks_at, cases))} | {"ends"}


def _rounds(asked: Exercise, databases: tuple[str, ...]) -> list[str]:
    """The databases to run on, one after the other; "" for the cases that need none."""
    none = [""] if any(not case.databases for case in asked.cases) else []
    return none + [d for d in asked.databases if d in databases]


@contextmanager
def room(database: str) -> Iterator[tuple[str, Path]]:
    """A folder, and for postgres a database, that are gone afterwards whatever happened to the child."""
    with ExitStack() as stack:
        folder = new_folder()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        url = ""
        if database == "postgres":
            from labkit.postgres import fresh_database

            url = stack.enter_context(fresh_database()).url
        yield url, folder


def _conclude(heard: Heard, used: list[str], missing: str, tested: set[str]) -> CheckReport:
    asked = heard.exercise
    if heard.unusable or (heard.failed and not heard.jury.broken):
        return CheckReport(asked.id, UNUSABLE, message=heard.unusable or heard.failed)
    if heard.forbidden:
        return _forbidden(asked, heard.forbidden)
    judged = [_only_here(one, used) for one in heard.jury.verdicts() if one.name in tested]
    certificate = heard.covered.line(used, sum(one.verdict == BROKEN for one in judged))
    message = "; ".join(filter(None, [heard.failed, missing]))
    return CheckReport(
        asked.id, overall(judged), judged, certificate, heard.covered.runs, used, message=message, output=heard.output
    )


def _only_here(one: Judged, used: list[str]) -> Judged:
    """A database is tried only when the ones before it broke nothing: what breaks on the second is right on the first.

    An error of the answer's own that no property had anything against is told at the end, wherever it was raised.
    """
    if one.verdict != BROKEN or len(used) < 2 or one.diagnosis == OWN_ERROR:
        return one
    return replace(one, diagnosis=f"right on {used[0]} only: {one.diagnosis}")


def _forbidden(asked: Exercise, why: str) -> CheckReport:
    return CheckReport(
        asked.id, BROKEN, [Judged("own work", BROKEN, why, "", imports.diagnosis(why))], "not run"
    )
