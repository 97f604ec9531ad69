"""The exercise `deploy_saga`: three steps and their undos, such that a deployment is there as a whole or not at all.

What the answer builds is run by the library's own saga. Every call to the cloud is refused, or loses its answer before or after it has
happened, on the way forward and on the way back; and the process dies at every crossing of a deployment that works and of two that fail.

Not handled here: running a saga (see `saga`), and an action that lands after its undo: the cloud keeps no tombstones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from labkit.checks import deploy_saga_rules as rules
from labkit.checks.common import body, crash_rule, ends, exits_rule, try_exits
from labkit.checks.drawn.words import names
from labkit.checks.exercise import SQL, Case, Exercise, Property
from labkit.checks.naps import naps_of
from labkit.checks.saga_log import Log
from labkit.cloud import Cloud, MemoryLedger
from labkit.errors import CallTimeout, CompensationFailed, SagaFailed, TerminalError
from labkit.faults.outcome import describe_error
from labkit.faults.process import Process
from labkit.saga.run import run_saga
from labkit.saga.step import SagaStep

NAME = "deploy_saga"
Apps = tuple[tuple[str, str], ...]  # (saga, application)
Act = Callable[[], str]
QUIET = logging.NullHandler()  # what the library logs is no output of the answer


class ReferenceLog(Log):
    """The log with which the library makes the end of one step and the start of the next one commit."""

    def append_all(self, entries: Sequence[tuple[str, str, str]]) -> None:
        self._append([(event, step) for event, step, _ in entries])


def _weak(process: Process, call: str, landed: bool) -> Cloud:
    """The process's cloud, where this call always fails: it is refused, or its answer is lost after it has happened."""

    def refuse() -> str:
        raise TerminalError(f"{call} is not allowed")

    def hook(label: str, key: str | None, act: Act) -> str:
        if label.split()[0] != call:
            return process._call_cloud(label, key, act)
        if not landed:
            return process._call_cloud(label, key, refuse)
        process._call_cloud(label, key, act)
        raise CallTimeout(f"no answer: {label}")

    return Cloud(process.world.ledger, process.world.clock, by=process.gate.process, hook=hook)


def _leave(deploy: Any, process: Process) -> list[list[Any]]:
    """Each action and each undo, with a cloud out of which only an exit comes."""

    def every(number: int, what: str) -> Callable[[Callable[..., Any]], Any]:
        def call(leave: Callable[..., Any]) -> Any:
            cloud = Cloud(process.world.ledger, process.world.clock, by=process.gate.process, hook=leave)
            return getattr(list(deploy(cloud, "shop"))[number], what)("exits:step:do")

        return call

    return [told for what in ("execute", "compensate") for number in range(3) for told in try_exits(every(number, what))]


def _deploy(apps: Apps, weak: tuple[str, bool] | None, deploy: Any, process: Process) -> list[dict[str, Any]]:
    """Build a saga for each application, then run them one after the other."""
    cloud = _weak(process, *weak) if weak else process.cloud
    with naps_of(process, passing=False):
        made = [(saga, list(deploy(cloud, app) or ())) for saga, app in apps]
        early = process.gate.counts.get("cloud", 0)
        told = []
        for saga, steps in made:
            told.append({"early": early, **_run(steps, saga, process)})
            process.note(f"the saga {saga}", told[-1]["said"].partition(":")[0])
        return told


def _apart(deploy: Any, process: Process) -> list[dict[str, Any]]:
    """A saga for each of several clouds, all of them built before any is run; `there` is what then exists in each."""

    def hook(place: str, refused: str) -> Callable[[str, str | None, Act], str]:
        def refuse() -> str:
            raise TerminalError(f"{refused} is not allowed")

        return lambda label, key, act: process.gate.cross("cloud", f"{label} in {place}", refuse if label == refused else act)

    clouds = [Cloud(MemoryLedger(), process.world.clock, hook=hook(place, no)) for place, _, no in rules.CLOUDS]
    with naps_of(process, passing=False):
        made = [list(deploy(cloud, app) or ()) for cloud, (_, app, _) in zip(clouds, rules.CLOUDS, strict=True)]
        told = [_run(steps, f"in {place}", process) for steps, (place, _, _) in zip(made, rules.CLOUDS, strict=True)]
    return [one | {"there": dict(cloud.resources())} for one, cloud in zip(told, clouds, strict=True)]


def _run(steps: list[Any], saga: str, process: Process) -> dict[str, Any]:
    alien = next((type(step).__name__ for step in steps if not isinstance(step, SagaStep)), "")
    said: dict[str, Any] = {"alien": alien, "names": [] if alien else [str(step.name) for step in steps]}
    if alien:
        return {**said, "how": "refused", "said": f"was not run: a {alien} is no step"}
    log = ReferenceLog(process.engine, saga)
    logging.getLogger("labkit.saga").addHandler(QUIET)
    try:
        run_saga(steps, log)
    except Exception as error:
        kind = next((k.__name__ for k in (SagaFailed, CompensationFailed) if isinstance(error, k)), "raised")
        said["error"], written = describe_error(error), log.entries()
        said["failed"] = [step for event, step in written if event in ("failed", "unknown")]
        said["undos"] = [step for event, step in written if event == "undoing"]
        said["undone"] = [step for event, step in written if event == "undone"]
        return {**said, "how": kind, "said": f"raised {type(error).__name__}: {error}"}
    return {**said, "how": "returned", "said": "returned"}


def _case(name: str, *apps: tuple[str, str], weak: tuple[str, bool] | None = None, **options: Any) -> Case:
    return Case(
        name, body(NAME, partial(_deploy, apps, weak)), facts={"apps": apps}, **{"databases": ("sqlite",), **options}
    )


def _faults() -> Iterator[str]:
    """What can go wrong with one call on the way forward."""
    for number in (1, 2, 3):
        for fault in (
            "error",
            "error(TerminalError)",
            "error(ValueError)",
            "timeout",
            "error(TimeoutError)",
            "duplicate",
        ):
            yield f"p1@cloud{number}.before+{fault}"
        yield f"p1@cloud{number}.after+timeout"


def _undo_faults() -> Iterator[str]:
    """The third step loses its answer, and an undo fails in passing, once or twice; all in all six calls."""
    third = "p1@cloud3.after+timeout"
    for number in (4, 5, 6):
        yield from (
            f"{third},p1@cloud{number}.{fault}" for fault in ("before+error", "before+timeout", "after+timeout")
        )
        yield f"{third},p1@cloud{number}.before+error,p1@cloud{number + 1}.after+timeout"


FOR_GOOD = tuple(f"p1@cloud3.after+timeout,p1@cloud{number}.before+error(TerminalError)" for number in (4, 5, 6))
WORKS = ("two_apps", "deployed")
FAILS = ("goes_wrong", "undo_goes_wrong", "route_refused", "route_lost", "container_lost")
ALL = (*WORKS, *FAILS, "undo_fails")

CASES = (
    _case("two_apps", ("d1", "shop"), ("Order 7: ☕", "Café Nr 7"), databases=SQL),
    _case("deployed", ("d2", "wiki"), engine="sweep"),
    _case("goes_wrong", ("d3", "blog"), schedules=tuple(_faults())),
    _case("undo_goes_wrong", ("d4", "mail"), schedules=tuple(_undo_faults())),
    _case("undo_fails", ("d5", "chat"), schedules=FOR_GOOD, databases=SQL),
    _case("route_refused", ("d6", "shop"), weak=("configure_route", False)),
    _case("route_lost", ("d7", "wiki"), weak=("configure_route", True), engine="sweep", faults=("crash",), costly=True),
    _case("container_lost", ("d8", "blog"), weak=("deploy_container", True)),
    Case("several_clouds", body(NAME, _apart), databases=("sqlite",)),
    Case("exits", body(NAME, _leave)),
)


def _drawn(rng: Random) -> tuple[Case, ...]:
    """Other sagas and applications, and some of what can go wrong with each."""
    drawn = iter(names(rng, 8))
    one, other, third, fourth = ((saga, app) for saga, app in zip(drawn, drawn, strict=True))
    return (
        _case("two_apps", one, other, databases=SQL),
        _case("goes_wrong", third, schedules=tuple(rng.sample([*_faults()], 2))),
        _case("undo_goes_wrong", fourth, schedules=(rng.choice([*_undo_faults()]),)),
    )


EXERCISE = Exercise(
    id="deploy_saga",
    title="A deployment that is whole or not there",
    chapter=21,
    origin="C",
    minutes=15,
    difficulty=2,
    points=10,
    essential=("key", "whole or nothing"),
    signatures={NAME: ("cloud", "app")},
    shown=("deployed:none", "goes_wrong:p1@cloud3.after+timeout"),
    cases=CASES,
    drawn=_drawn,
    properties=(
        ends(),
        replace(crash_rule("deployed"), needs="key"),
        replace(exits_rule("exits"), needs="key"),
        Property(
            "three steps", "the saga is the three steps, and building it does nothing", rules.built, ALL, rules.ran
        ),
        Property("key", "each call carries the key that its step was called with", rules.key, ALL, rules.ran),
        Property("deploys", "with nothing in the way all three exist, once", rules.deploys, WORKS, rules.ran),
        Property(
            "its own cloud",
            "what is called is the cloud that was given, whichever came before",
            rules.in_its_own_cloud,
            ("several_clouds",),
            rules.somewhere,
            unless=("three steps", "key", "deploys"),
        ),
        Property("whole or nothing", "all three exist once, or none does", rules.whole_or_nothing, FAILS, rules.undone),
        Property(
            "an undo that fails",
            "an undo that failed for good is heard of",
            rules.tells,
            ("undo_fails",),
            rules.told_of,
        ),
    ),
    hints=(
        "What is the opposite of each of the three calls, and under which key is it asked for? The step is handed one for either way.",
        "`SagaStep(name, execute, compensate)`, both functions of a key. Let every error out: the saga must hear it to know whether to go back, and "
        "whether it may have happened all the same.",
        "`SagaStep('create_namespace', lambda key: cloud.create_namespace(app, key=key), lambda key: cloud.delete_namespace(app, key=key))`, "
        "and two more like it. The last step needs its undo too: its answer may be lost.",
    ),
)
