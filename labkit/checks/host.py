"""The host: runs an answer through the cases of its exercise, in a child with limits, and says what it saw.

It judges nothing. Every end goes out as one line of plain data; before each case the host says which it begins, so that whoever listens knows where a silent
child got stuck. What the answer prints is kept up to a limit and changes no verdict. An error that comes out of the host itself is told as that.

Not handled here: the limits (see `limits`), real kills (see `kill`), listening (see `listening`), and judging (see `judge`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from labkit.checks import blame, imports, registry
from labkit.checks.answer import Forbidden, load
from labkit.checks.elsewhere import settled
from labkit.checks.exercise import Answer, Case, Exercise
from labkit.checks.hidden import hide
from labkit.checks.limits import MOST_OUTPUT, Capped, limit_resources, quiet
from labkit.checks.whereabouts import Watch, tell_when_asked
from labkit.errors import UsageError
from labkit.faults.interleave import Orders, interleave_runs
from labkit.faults.nursery import Report
from labkit.faults.runner import Runner, follow
from labkit.faults.scenario import End
from labkit.faults.schedule import Schedule, Token
from labkit.faults.search import search_runs
from labkit.faults.sweep import Closure, sweep_runs
from labkit.faults.world import Photograph, World

MOST_REPORTED = 2_000_000  # characters of one run's end
LEFT_BY = {"crash": "left", "interrupt": "interrupted"}  # fault -> the kind of `Seen` that shows what it left
MOST_RUNS = 600  # in one sweep of one case


class Worlds:
    """One world of each kind for all cases of a job: put back to empty it is as good as new, and much cheaper."""

    def __init__(self, folder: Path, url: str = "", *, durable: bool = False) -> None:
        self.folder, self.url, self.durable = folder, url, durable
        self._stack = ExitStack()
        self._made: dict[str, tuple[World, Photograph]] = {}

    def empty(self, kind: str, *, database: bool) -> World:
        """The world of this kind, empty; `database` False leaves its database closed."""
        if kind not in self._made:
            place = self.folder / kind
            place.mkdir(parents=True, exist_ok=True)
            world = self._stack.enter_context(World(kind, folder=place, url=self.url, durable=self.durable))
            if database:
                _ = world.database  # opens it
            self._made[kind] = (world, world.photograph())
        world, nothing = self._made[kind]
        world.put_back(nothing)
        return world

    def __enter__(self) -> Worlds:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


def serve(
    report: Report, *, exercise: str, source: str, database: str, url: str, engine: str, folder: str, seed: int | None = None
) -> None:
    """In the child: load the answer and run the cases that belong to `database` ("" for those without one), those drawn from `seed` among them."""
    output = Capped(MOST_OUTPUT)
    asked = registry.find(exercise, seed)
    with blamed(report), quiet(output), settled(exercise), Worlds(Path(folder), url) as worlds:
        answer = begin(report, asked, source, Path(folder))
        if answer is None:
            return
        for case in asked.cases_on(database):
            if engine == "kill" and case.engine == "sweep":  # these need a process for each process
                continue
            printed = {"output": output.getvalue()} if case.costly else {}  # perhaps nobody listens any longer
            report({"case": case.name, "database": database, **printed})
            world = worlds.empty(kind_of(case, database), database=bool(database))
            runner = Runner(Watch(source).over(case.scenario(asked.id, answer)), world)
            covered = _through(report, runner, case, engine if case.engine == "sweep" and engine else case.engine)
            report({"covered": case.name, **covered})
            if imports.refused:  # subtle: an answer that catches the refusal was refused all the same
                return report({"forbidden": imports.refused[0]})
        if told := imports.remembered():
            return report({"forbidden": told[0]})
        report({"finished": database, "output": output.getvalue()})


@contextmanager
def blamed(report: Report) -> Iterator[None]:
    """Tell an error that comes out of this, and whose it is, instead of raising it."""
    try:
        yield
    except BrokenPipeError:  # nobody listens any more
        raise
    except BaseException as error:
        report(blame.told(error))


def begin(report: Report, asked: Exercise, source: str, folder: Path) -> Answer | None:
    """Load the answer within limits, in a folder where it may write; None when it cannot be used, which is reported."""
    here = folder / "here"
    here.mkdir(parents=True, exist_ok=True)
    os.chdir(here)
    if asked.preload:  # done already, where a warm parent has forked us
        module, _, name = asked.preload.partition(":")
        getattr(import_module(module), name)()
    limit_resources()
    tell_when_asked(folder)
    hide()
    imports.refused.clear()
    try:
        answer = load(source, asked)
    except (Forbidden, UsageError) as error:
        report({"forbidden" if isinstance(error, Forbidden) else "unusable": str(error)})
        return None
    report({"loaded": asked.id})
    return answer


def kind_of(case: Case, database: str) -> str:
    """The kind of world for a case: several actors need a file that can make one of them wait, one alone is faster in memory."""
    on_file = case.on_file or case.engine == "interleave"
    return database if database == "postgres" else "sqlite" if on_file else "memory"


def _through(report: Report, runner: Runner, case: Case, engine: str) -> dict[str, Any]:
    """Run one case with one engine; returns what was covered."""

    def tell(kind: str, end: End) -> None:
        say(report, word_of(case, kind, end))

    if engine == "sweep":
        closure = Closure()
        for end, _ in sweep_runs(
            runner, case.faults, closure, most_runs=MOST_RUNS, left=lambda left: tell("left", left)
        ):
            tell("interrupted" if "+interrupt" in end.token else "end", end)
        return {
            "crash_points": closure.crash_points,
            "states": len(closure.states),
            "runs": closure.runs,
            "capped": closure.capped,
        }
    if engine == "interleave":
        orders = Orders()
        for end, _ in interleave_runs(runner, preemptions=case.preemptions, orders=orders, alike=case.alike):
            tell("end", end)
        actors = {"actors": len(runner.scenario.bodies), "alike": orders.alike}
        counts = {"orders": orders.runs, "runs": orders.runs, "preemptions": orders.preemptions}
        return counts | actors | {"closed": orders.closed}
    if engine == "search":
        tell_drawn = partial(_tell_drawn, runner, tell)
        ran, _ = search_runs(runner, examples=100, faults=case.faults, seen=tell_drawn)
        return {"runs": ran}
    for text in case.schedules:
        schedule = Schedule.parse(text)
        left = _left(runner, schedule) if case.left else []
        for kind, end in [*left, ("end", runner.run(schedule)[0])]:
            tell(kind, end)
    return {"runs": len(case.schedules)}


def _tell_drawn(runner: Runner, tell: Callable[[str, End], None], end: End) -> None:
    """Tell the end of a schedule that was drawn; and where its only fault struck, what that left."""
    tell("end", end)
    schedule = Token.parse(end.token).schedule
    if len(schedule.injections) == 1 and not end.unreached and not end.moved:
        for kind, left in _left(runner, schedule):
            tell(kind, left)


def word_of(case: Case, kind: str, end: End) -> dict[str, Any]:
    """What is said of one run."""
    return {"seen": kind, "case": case.name, "end": end.to_data()}


def say(report: Report, said: dict[str, Any]) -> None:
    """Report, but no more than anybody can look at: what is larger is the answer's doing (`TooMuch`)."""
    if len(json.dumps(said)) > MOST_REPORTED:
        raise blame.TooMuch
    report(said)


def _left(runner: Runner, schedule: Schedule) -> list[tuple[str, End]]:
    """What the last fault of a schedule left before anybody went on, with its kind of `Seen`; nothing where it left nobody to go on."""
    kind = LEFT_BY.get(schedule.injections[-1].fault.kind, "") if schedule.injections else ""
    return [(kind, _as_left(runner, schedule))] if kind else []


def _as_left(runner: Runner, schedule: Schedule) -> End:
    """The world as the process left it in which the last fault struck, before anybody went on."""
    number, bodies = 1, runner.scenario.bodies
    run = runner.once(runner.start, number, bodies, schedule.injections, partial(follow, schedule.order))
    while run.needs_restart and number + len(bodies) <= schedule.injections[-1].process:
        number, bodies = number + len(bodies), (runner.scenario.restarted,)
        run = runner.generation(number, bodies, schedule.injections)
    return runner.end(schedule, [run])


def replay(
    report: Report, *, exercise: str, source: str, case: str, schedule: str, database: str, url: str, folder: str
) -> None:
    """In the child: run one schedule of one case and report its trace."""
    asked = registry.with_case(exercise, case)
    with blamed(report), quiet(Capped(MOST_OUTPUT)), settled(exercise):
        watch, wanted = Watch(source), Schedule.parse(schedule)
        watch.tell(report, str(Token(f"{exercise}.{case}", database, wanted)))
        answer = begin(report, asked, source, Path(folder))
        if answer is None:
            return
        with World(database, folder=Path(folder), url=url) as world:
            runner = Runner(watch.over(asked.case(case).scenario(exercise, answer)), world)
            left = _left(runner, wanted)
            end, trace = runner.replay(wanted)
        report({"trace": trace.to_jsonl(), "ends": [(kind, one.to_data()) for kind, one in [*left, ("end", end)]]})
