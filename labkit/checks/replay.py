"""One run of an answer again, by its token, as a trace.

The answer runs in a child under the limits of a check and is listened to with the same patience, and what it broke is marked in the trace.

Not handled here: whether the token is the exercise's own (see `command`), and drawing (see `faults.picture`).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from labkit.checks import registry, wire
from labkit.checks.answer import Forbidden, NotAttempted, look
from labkit.checks.exercise import Exercise
from labkit.checks.judge import BROKEN, Jury, never_ends
from labkit.checks.listening import PATIENCE, Patience, last_line
from labkit.checks.run import lacking, nursery_with, room
from labkit.checks.texts import printable
from labkit.checks.whereabouts import ask, in_words
from labkit.errors import UsageError
from labkit.faults.child import Child, Overtime
from labkit.faults.database_world import check_kind
from labkit.faults.nursery import Nursery
from labkit.faults.schedule import Token
from labkit.faults.trace import Trace


def run_replay(
    token: str, source: str, *, judged: bool = True, nursery: Nursery | None = None, patience: Patience = PATIENCE
) -> Trace:
    """The trace of one token with this answer; `judged` adds what broke, and is `NotAttempted` by a stub.

    Raises `UsageError` when the token or the answer cannot be used.
    """
    asked = Token.parse(token)
    exercise, _, case = asked.scenario.partition(".")
    found = registry.with_case(exercise, case)
    known = [one.name for one in found.cases]
    if case not in known:
        raise UsageError(f"{exercise} has no case {case!r}; it has {', '.join(known)}")
    if lacking(found):
        raise UsageError(lacking(found))
    try:
        look(source, found)
    except NotAttempted:
        if judged:
            raise  # without a verdict a stub can be looked at: it does nothing
    except Forbidden as error:
        raise UsageError(str(error)) from None
    world, warm = check_kind(asked.database), nursery or nursery_with(found.preload)
    with (warm.room or room)(world) as (url, folder):
        job = {
            "exercise": exercise,
            "source": source,
            "case": case,
            "schedule": str(asked.schedule),
            "database": world,
            "url": url,
            "folder": str(folder),
        }
        trace, found_broken = _replayed(found, warm, patience, job)
    return trace.with_broken(found_broken) if judged else trace


def _replayed(
    asked: Exercise, nursery: Nursery, patience: Patience, job: dict[str, Any]
) -> tuple[Trace, list[tuple[str, str]]]:
    child = nursery.start("labkit.checks.host:replay", **job)
    said: dict[str, Any] = {}
    try:
        for said in map(wire.word, child.reports(patience.stall, patience.total)):
            if "trace" in said:
                return _trace_and_what_broke(asked, job["case"], said)
            if said.keys() & {"unusable", "forbidden"}:
                raise UsageError(*(printable(str(why)) for why in said.values()))
            if "failed" in said:
                raise UsageError(printable(f"the check itself failed: {last_line(said['failed'])}"))
    except Overtime:
        raise UsageError("the replay is too slow") from None
    except TimeoutError:
        return _so_far(child, job)
    except (ValueError, RecursionError):
        raise UsageError("the replay broke off: the answer spoke for the host") from None
    finally:
        child.kill()
        child.wait()
    raise UsageError(printable(f"the replay broke off: {said.get('broke', 'the process ended')}"))


def _so_far(child: Child, job: dict[str, Any]) -> tuple[Trace, list[tuple[str, str]]]:
    """What a run that never ends has come to when it is stopped. Raises `UsageError` where it does not say."""
    lines, said = ask(child, Path(job["folder"]))
    why = printable(never_ends(job["case"], in_words(job["source"], lines)))
    with suppress(ValueError):
        trace = wire.trace({"trace": said.get("so far")})
        if trace.lines:
            return trace, [("ends", why)]
    raise UsageError(f"there is nothing to draw: {why}")


def _trace_and_what_broke(asked: Exercise, case: str, said: dict[str, Any]) -> tuple[Trace, list[tuple[str, str]]]:
    trace, jury = wire.trace(said), Jury(asked)
    for seen in wire.ends(asked, case, said):
        jury.hear(seen)
    return trace, [(one.name, printable(one.message)) for one in jury.verdicts() if one.verdict == BROKEN]
