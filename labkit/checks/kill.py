"""The swept cases of an exercise with real processes: a SIGKILL at every crossing, then a new process that recovers.

The world is on this side, where no answer is ever run. Each process of a run is a child that loads the answer within its limits, plays one body and says how
it ended; a crash of the schedule is a SIGKILL that the child gets at that crossing. What is told here are the words of the host (see `host`), so the same
jury hears them. Other faults of the case strike in a real child too.

Not handled here: kills of the recovery (the sweep has them), several actors at once, and requests that arrive late.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.checks import blame, host, imports, registry
from labkit.checks.exercise import Answer, Case, Exercise
from labkit.checks.limits import MOST_OUTPUT, Capped, quiet
from labkit.checks.listening import FORGED
from labkit.clock import SystemClock
from labkit.errors import LabkitError
from labkit.faults.child import SIGKILL, Child
from labkit.faults.kill import Killer, live, told
from labkit.faults.nursery import Nursery, Report
from labkit.faults.outcome import Outcome
from labkit.faults.runner import MOST_RESTARTS, Generation, Runner
from labkit.faults.schedule import Schedule


class Said(LabkitError):
    """A child had something else to say than how its process ended."""

    word: dict[str, Any] = {}


@dataclass
class Hurry:
    """How long a child may be silent, and when all of them together have had their time (real seconds)."""

    stall: float
    give_up: float

    @property
    def left(self) -> float:
        return self.give_up - SystemClock().monotonic()


class AnswerKiller(Killer):
    """Runs the processes of one case as children that load the answer themselves."""

    def __init__(self, runner: Runner, nursery: Nursery, hurry: Hurry, **job: Any) -> None:
        super().__init__(runner, nursery, ("labkit.checks.kill:play", job))
        self._hurry = hurry

    def listen(self, child: Child, number: int) -> Generation:
        """Hear a child to its end. Raises `Said` when that is not the end of a process, `TimeoutError` when there is none."""
        last: dict[str, Any] = {}
        try:
            for last in child.reports(self._hurry.stall, self._hurry.left):
                if last.keys() & {"forbidden", "unusable", "broke", "failed"}:
                    raise Said(word=last)
                if "struck" in last and "outcome" not in last:
                    child.kill()  # what it is about to do itself, or waits for
            status = child.wait()
            if "outcome" in last:
                return told(last, Outcome(**last["outcome"]))
            if "struck" in last and status == -SIGKILL:
                return told(last, Outcome(f"p{number}", "crashed"))
        except (ValueError, TypeError, AttributeError):
            raise Said(word={"broke": FORGED}) from None
        finally:
            child.kill()
            child.wait()
        raise Said(word={"broke": f"the process ended with status {status}"})


def kills(
    exercise: Exercise, nursery: Nursery, stall: float, total: float, *, source: str, database: str, url: str, folder: Path
) -> Generator[dict[str, Any]]:
    """Yield what a host would say of the swept cases on `database`. Raises `TimeoutError` for an answer that does not end."""
    kind = database or "sqlite"  # a memory database would die with its process
    job = {"exercise": exercise.id, "source": source, "home": str(folder)}
    try:
        with host.Worlds(folder, url, durable=True) as worlds:
            for case in exercise.cases_on(database):
                if case.engine == "sweep":
                    yield {"case": case.name, "database": database}
                    runner = Runner(
                        case.scenario(exercise.id, Answer(_nothing)), worlds.empty(kind, database=bool(database))
                    )
                    hurry = Hurry(stall, SystemClock().monotonic() + total)
                    yield from _runs(AnswerKiller(runner, nursery, hurry, case=case.name, **job), case)
    except Said as said:
        yield said.word
    except TimeoutError:
        raise
    except Exception as error:  # no answer is run on this side
        yield blame.told(error)


def _nothing() -> dict[str, Any]:
    raise AssertionError("an answer is run in a child only")


def _runs(killer: AnswerKiller, case: Case) -> Iterator[dict[str, Any]]:
    """The undisturbed run, then one with each fault of the case at each crossing of the first process."""
    world, start, count = killer.world, killer.runner.start, {"kills": 0, "runs": 1}
    world.put_back(start)
    base = killer.generation(1)
    yield host.word_of(case, "end", killer.runner.end(Schedule(), [base]))
    capped = ""
    for injection in base.injections(1, [fault for fault in case.faults if not fault.startswith("late")]):
        if count["runs"] == host.MOST_RUNS:
            capped = f"{host.MOST_RUNS} runs"
            break
        count["runs"] += 1
        world.put_back(start)
        made = [killer.generation(1, (injection,))]
        count["kills"] += made[0].outcomes[0].how == "crashed"
        if kind := host.LEFT_BY.get(injection.fault.kind, ""):
            yield host.word_of(case, kind, killer.runner.end(Schedule((injection,)), made))
        while made[-1].needs_restart and len(made) <= MOST_RESTARTS:
            made.append(killer.generation(len(made) + 1, body=None))
        yield host.word_of(case, "end", killer.runner.end(Schedule((injection,)), made))
    yield {"covered": case.name, **count, "capped": capped}


def play(report: Report, *, exercise: str, source: str, case: str, home: str, **it: Any) -> None:
    """In the child: load the answer within limits and play one process of the case."""
    asked = registry.with_case(exercise, case)
    with host.blamed(report), quiet(Capped(MOST_OUTPUT)):
        answer = host.begin(report, asked, source, Path(home))
        if answer is None:
            return
        live(lambda said: host.say(report, said), asked.case(case).scenario(exercise, answer), **it)
        if told := imports.remembered():
            report({"forbidden": told[0]})
