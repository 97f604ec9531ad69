"""Listening to a child that runs an answer: what was heard so far, and for how long one listens.

Whatever the child does, listening ends. Limits are of real time: an answer that does not finish loading is unusable, one that falls silent in a case never
ends. One that goes on and on and is not at its end when its time is up shows neither that it is right nor that it is wrong: the machine may be busy.

Not handled here: what the child is told to run (see `run` and `host`), and what its words mean for the answer (see `judge`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.checks import limits, wire
from labkit.checks.exercise import Exercise
from labkit.checks.host import kind_of
from labkit.checks.judge import Covered, Jury
from labkit.checks.whereabouts import ask, in_words
from labkit.clock import SystemClock
from labkit.faults.child import SIGXCPU, Overtime
from labkit.faults.nursery import Nursery
from labkit.faults.schedule import Schedule, Token
from labkit.plural import counted


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
FORGED = "it spoke for the host"  # an answer that wrote on its host's pipe, or made it say what no host says


@dataclass
class Heard:
    """What was heard of one exercise so far. `told` is called with it after each word."""

    exercise: Exercise
    jury: Jury
    told: Callable[[Heard], object] = lambda heard: None
    covered: Covered = field(default_factory=Covered)
    unusable: str = ""
    forbidden: str = ""
    failed: str = ""  # why the check itself broke
    output: str = ""
    database: str = ""
    case: str = ""
    ended: int = 0  # runs of this case that came to their end
    loaded: bool = False
    finished: bool = False

    @property
    def token(self) -> str:
        """The token of the run that is under way; "" where nobody can tell which one that is."""
        if not self.case:
            return ""
        case, nth = self.exercise.case(self.case), self.ended
        schedules = case.schedules if case.engine == "once" else ("none",) if case.engine == "sweep" else ()
        if nth >= len(schedules):
            return ""
        return str(Token(f"{self.exercise.id}.{case.name}", kind_of(case, self.database), Schedule.parse(schedules[nth])))

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


def listen(heard: Heard, nursery: Nursery, patience: Patience, **job: Any) -> None:
    """Run the host once (`job` are the arguments of `host.serve`) and let the jury hear what it says."""
    child = nursery.start("labkit.checks.host:serve", exercise=heard.exercise.id, **job)
    try:
        hear(heard, patience, child.reports(patience.stall, patience.total), lambda: in_words(job["source"], ask(child, Path(job["folder"]))[0]))
    finally:
        child.kill()
        status = child.wait()
    if not (heard.finished or heard.over):
        if status == -SIGXCPU and heard.loaded:
            heard.jury.slow(heard.case, limits.CPU, heard.token)
        else:
            _broke_off(heard, f"the process ended with status {status}")


def hear(heard: Heard, patience: Patience, words: Iterable[dict[str, Any]], where: Callable[[], str] = lambda: "") -> None:
    """Take in the words of a host until there is nothing more to hear, or patience is at its end; `where` asks a silent answer where it is."""
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
            heard.jury.stuck(heard.case, heard.token, where())
        else:
            heard.unusable = f"the answer does not finish loading (more than {patience.stall:g} s)"
    except (ValueError, RecursionError):  # no word of a host is nested that deeply
        _broke_off(heard, FORGED)


def _take(heard: Heard, said: dict[str, Any]) -> None:
    match said:
        case {"seen": kind, "case": case, "end": end}:
            seen = wire.seen(heard.exercise, case, kind, end)
            heard.ended += kind == "end"
            heard.jury.hear(seen)
            # one run that uses up what it may is enough: each of the others would take as long
            heard.finished = any(one.how == "endless" or one.error.get("type") == "MemoryError" for one in seen.end.outcomes)
        case {"case": case, "database": database}:
            heard.case, heard.database, heard.ended = wire.case(heard.exercise, case), database, 0
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


def _broke_off(heard: Heard, why: str) -> None:
    """The host ended in the middle: the answer ended the process, or used up what it may."""
    if heard.loaded:
        heard.jury.broke_off(heard.case, why, heard.token)
    else:
        heard.unusable = f"the answer ends the process while it loads: {why}"
