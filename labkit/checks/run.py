"""From an answer to a report: start the host in a child, listen, judge.

The child comes from a warm parent, so a check costs no start of Python. It is listened to with limits of real time: one
that does not finish loading is unusable, one that falls silent in a case never ends. One that goes on and on and is not at its end when its time is up
shows neither that it is right nor that it is wrong: the machine may be busy. PostgreSQL databases are made and dropped on this side, so a killed child
leaves none behind.

Not handled here: printing (see `command` and `lab`), and one run again (see `replay`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labkit.checks import imports, limits, registry, wire
from labkit.checks.answer import Forbidden, NotAttempted, look
from labkit.checks.cells import place
from labkit.checks.exercise import SQL, Exercise
from labkit.checks.judge import BROKEN, NOT_ATTEMPTED, UNUSABLE, CheckReport, Covered, Judged, Jury, overall
from labkit.checks.kill import kills
from labkit.clock import SystemClock
from labkit.errors import PostgresUnavailable, UsageError
from labkit.faults.folder import new_folder
from labkit.faults.nursery import SIGXCPU, Nursery, Overtime
from labkit.plural import counted

NURSERY = Nursery(["labkit.checks.kill", "labkit.checks.registry:every", "labkit.checks.imports:load_names", "labkit.faults.warming:warm"])


@cache
def nursery_with(preload: str) -> Nursery:
    """The warm parent for exercises that need this loaded as well ("" for nothing): one for all of them."""
    return Nursery([*NURSERY.preload, preload]) if preload else NURSERY


@dataclass
class _Listening:
    """What was heard of one exercise so far. `told` is called with it after each word."""

    exercise: Exercise
    jury: Jury
    told: Callable[[_Listening], object] = lambda heard: None
    covered: Covered = field(default_factory=Covered)
    unusable: str = ""
    forbidden: str = ""
    failed: str = ""  # why the check itself broke
    output: str = ""
    database: str = ""
    case: str = ""
    last_token: str = ""
    loaded: bool = False
    finished: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing that is run from here on could change the verdict."""
        return bool(self.unusable or self.forbidden or self.failed or self.jury.broken)

    @property
    def ended_well(self) -> bool:
        """Whether the answer came to the end of all that was asked of it so far, right or wrong."""
        return self.finished and "ends" not in self.jury.worst

    def __str__(self) -> str:
        where = [self.database] if self.database else []
        where += [f"case {self.case}", counted(self.jury.heard, "run")] if self.case else ["loading"]
        return f"{self.exercise.id}: {', '.join(where)}"


@dataclass(frozen=True)
class Patience:
    """How long we listen: real seconds, `stall` for the next word, `total` for all of one database, `for_red` once something is broken.

    A right answer on a busy machine may need many times the seconds that it needs alone, so a `total` that is used up is no verdict (see `limits`
    for the processor time, which is one).
    """

    stall: float = 5.0
    total: float = 180.0
    for_red: float = 40.0
    for_more: bool = True  # False: the first broken property is enough


PATIENCE = Patience()


def run_check(
    exercise: str,
    source: str,
    *,
    databases: tuple[str, ...] = SQL,
    engine: str = "",
    nursery: Nursery | None = None,
    patience: Patience = PATIENCE,
    told: Callable[[object], object] = lambda heard: None,
) -> CheckReport:
    """Check an answer. `databases` are those to use where the exercise needs one; `told` hears, again and again, how far it is.

    Raises `UsageError` only for an unknown exercise.
    """
    clock = SystemClock()
    began = clock.monotonic()
    asked = registry.find(exercise)
    heard = _Listening(asked, Jury(asked, partial(place, source)), told)
    warm = nursery or nursery_with(asked.preload)
    report = _looked_at(asked, source) or _unusable_server(asked, databases) or _check(heard, source, databases, engine, warm, patience)
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
    heard: _Listening, source: str, databases: tuple[str, ...], engine: str, nursery: Nursery, patience: Patience
) -> CheckReport:
    used: list[str] = []
    missing = ""
    for database in _rounds(heard.exercise, databases):
        try:
            _round(heard, source, database, engine, nursery, patience)
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
    heard: _Listening, source: str, database: str, engine: str, nursery: Nursery, patience: Patience
) -> None:
    """All cases on one database."""
    job = {"source": source, "database": database}
    with room(database) as (url, folder):
        listen(heard, nursery, patience, **job, url=url, engine=engine, folder=str(folder))
    if engine == "kill" and heard.ended_well and (patience.for_more or not heard.over):
        with room(database) as (url, folder):
            killed = kills(heard.exercise, nursery, patience.stall, patience.total, **job, url=url, folder=folder)
            with closing(killed) as words:
                _hear(heard, patience, words)


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


def listen(heard: _Listening, nursery: Nursery, patience: Patience, **job: Any) -> None:
    """Run the host once (`job` are the arguments of `host.serve`) and let the jury hear what it says."""
    child = nursery.start("labkit.checks.host:serve", exercise=heard.exercise.id, **job)
    try:
        _hear(heard, patience, child.reports(patience.stall, patience.total))
    finally:
        child.kill()
        status = child.wait()
    if not (heard.finished or heard.over):
        if status == -SIGXCPU and heard.loaded:
            heard.jury.slow(heard.case, limits.CPU, heard.last_token)
        else:
            _broke_off(heard, f"the process ended with status {status}")


def _hear(heard: _Listening, patience: Patience, words: Iterable[dict[str, Any]]) -> None:
    heard.finished, clock, enough = False, SystemClock(), float("inf")
    try:
        for said in words:
            _take(heard, wire.word(said))
            heard.told(heard)
            if heard.jury.broken:
                enough = min(enough, clock.monotonic() + patience.for_red)
            heard.finished = heard.finished or clock.monotonic() >= enough
            if heard.finished or (heard.jury.broken and not patience.for_more):
                break
    except Overtime:
        heard.finished = True
        heard.jury.cut_short(f"stopped after {patience.total:g} s in case {heard.case}")
    except TimeoutError:
        if heard.loaded:
            heard.jury.stuck(heard.case, heard.last_token)
        else:
            heard.unusable = f"the answer does not finish loading (more than {patience.stall:g} s)"
    except (ValueError, RecursionError):  # no word of a host is nested that deeply
        _broke_off(heard, "it spoke for the host")


def _take(heard: _Listening, said: dict[str, Any]) -> None:
    match said:
        case {"seen": kind, "case": case, "end": end}:
            seen = wire.seen(heard.exercise, case, kind, end)
            heard.last_token = seen.end.token
            heard.jury.hear(seen)
            # one run that uses up what it may is enough: each of the others would take as long
            heard.finished = any(one.how == "endless" or one.error.get("type") == "MemoryError" for one in seen.end.outcomes)
        case {"case": case, "database": database}:
            heard.case, heard.database = wire.case(heard.exercise, case), database
            heard.output = said.get("output", heard.output)
            heard.finished = heard.jury.broken and heard.exercise.case(case).costly  # whoever waits for red has it sooner
        case {"covered": _}:
            heard.covered.add(said)
        case {"loaded": _}:
            heard.loaded = True
        case {"forbidden": why}:
            heard.forbidden = why
        case {"unusable": why}:
            heard.unusable = why
        case {"finished": _, "output": output}:
            heard.finished, heard.output = True, output
        case {"broke": why}:
            _broke_off(heard, why)
        case {"failed": why}:
            heard.failed = f"the check itself failed: {last_line(why)}"


def last_line(why: object) -> str:
    """What an error says, without the way to it."""
    return (str(why).strip().splitlines() or ["it does not say why"])[-1][:200]


def _broke_off(heard: _Listening, why: str) -> None:
    """The host ended in the middle: the answer ended the process, or used up what it may."""
    if heard.loaded:
        heard.jury.broke_off(heard.case, why, heard.last_token)
    else:
        heard.unusable = f"the answer ends the process while it loads: {why}"


def _conclude(heard: _Listening, used: list[str], missing: str, tested: set[str]) -> CheckReport:
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
    """A database is tried only when the ones before it broke nothing: what breaks on the second is right on the first."""
    if one.verdict != BROKEN or len(used) < 2:
        return one
    return replace(one, diagnosis=f"right on {used[0]} only: {one.diagnosis}")


def _forbidden(asked: Exercise, why: str) -> CheckReport:
    return CheckReport(
        asked.id, BROKEN, [Judged("own work", BROKEN, why, "", imports.diagnosis(why))], "not run"
    )
