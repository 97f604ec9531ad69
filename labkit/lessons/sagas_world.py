"""The four steps of the saga lesson, far sides that refuse something, and what must hold in the end: all, or nothing, or what is told.

`timed` makes a scenario of a function that runs steps with a log and a clock. A process that died is followed by one that calls the same
function with the same log.

Not handled here: how sagas are run (see `sagas`), and what is late (see `sagas_late`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from labkit.clock import Clock
from labkit.cloud import Cloud
from labkit.errors import CompensationFailed, LabkitError, SagaFailed, TerminalError
from labkit.faults import End, Process, Scenario
from labkit.lessons.story import APP
from labkit.saga import SagaLog, SagaStep

PAIRS = {  # what a step makes, by which call, and its undo
    "container": ("deploy_container", "remove_container"),
    "route": ("configure_route", "delete_route"),
    "dns_record": ("create_dns_record", "delete_dns_record"),
    "alert": ("create_alert", "delete_alert"),
}

Steps = Sequence[SagaStep]
Timed = Callable[[Steps, SagaLog, Clock], None]


class FullZone(Cloud):
    """A far side on which step 3 never works."""

    def perform(self, name: str, target: str, key: str | None) -> str:
        if name == "create_dns_record":
            raise TerminalError(f"{name} {target} refused: the zone is full")
        return super().perform(name, target, key)


class LockedZone(Cloud):
    """A far side on which step 4 never works, and then the undo of step 3 does not work either."""

    def perform(self, name: str, target: str, key: str | None) -> str:
        refuses = {"create_alert": "there are too many", "delete_dns_record": "the zone is locked"}
        if name in refuses:
            raise TerminalError(f"{name} {target} refused: {refuses[name]}")
        return super().perform(name, target, key)


class Tombstones(Cloud):
    """A far side that refuses an action whose undo it has seen."""

    def perform(self, name: str, target: str, key: str | None) -> str:
        undone = f"{(key or '').removesuffix(':do')}:undo"
        if any(effect.key == undone != key for effect in self.effects()):
            raise TerminalError(f"{name} {target} was undone before it came")
        return super().perform(name, target, key)


def steps_of(process: Process, far_side: type[Cloud] = Cloud) -> list[SagaStep]:
    """The four steps of a process. What the far side refuses is noted in the trace, and an undo that found nothing."""
    world = process.world
    cloud = far_side(world.ledger, world.clock, by=process.gate.process, hook=process._call_cloud)

    def bound(call: str, key: str | None) -> None:
        try:
            getattr(cloud, call)(APP, key=key)
        except TerminalError as error:
            process.note("TerminalError", str(error))
            raise
        if not cloud.effects()[-1].changed:
            process.note("nothing to undo", call)

    return [SagaStep(name, partial(bound, do), partial(bound, undo)) for name, (do, undo) in PAIRS.items()]


def told(run: Callable[[], None]) -> str:
    """What the caller hears: completed, failed, or what remains."""
    try:
        run()
    except SagaFailed:
        return "failed"
    except CompensationFailed as error:
        return f"remains: {', '.join(error.remaining)}"
    except LabkitError as error:
        return type(error).__name__
    return "completed"


def there(end: End) -> str:
    """What exists in the cloud, in the order of the steps."""
    counts = {name: end.resources[f"{name} {APP}"] for name in PAIRS}
    return ", ".join(name if count == 1 else f"{count} {name}s" for name, count in counts.items() if count) or "nothing"


def all_or_nothing(end: End) -> str | None:
    """An invariant: all is there and the caller was told so, or nothing is, or exactly what the caller was told remains."""
    said = str(end.last.value) if end.last.how == "returned" else str(end.last)
    is_there = there(end)
    promised = {"completed": ", ".join(PAIRS), "failed": "nothing"}.get(said, said.removeprefix("remains: "))
    right = set(promised.split(", ")) == set(is_there.split(", "))
    return None if right else f"{said}, and there is: {is_there}"


def play(process: Process, run: Timed, far_side: type[Cloud]) -> str:
    """A process that runs the saga, or goes on with it, and says what its caller hears."""
    return told(lambda: run(steps_of(process, far_side), SagaLog(process.engine, APP), process.clock))


def timed(run: Timed, far_side: type[Cloud], name: str) -> Scenario:
    """The four steps, run by this function on this far side."""
    goals = {Cloud: partial(_says, said="completed"), FullZone: partial(_says, said="failed")}
    return Scenario(name, partial(play, run=run, far_side=far_side), [all_or_nothing], goal=goals.get(far_side))


def _says(end: End, said: str) -> bool:
    return bool(end.last.value == said)
