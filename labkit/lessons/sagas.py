"""Chapter 21, sagas and common error 3: ways to take a deployment of four steps back, each sound at first sight.

A way is a function of steps and a log; `deployment`, `full_zone` and `locked_zone` make scenarios of it. `durable` is the library's. Every
other way is broken on purpose, under what its docstring says: `BROKEN` holds each with the schedule that breaks it.

Not handled here: deadlines and actions that come too late (see `sagas_late`), and tables and strips of all this (see `sagas_runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from labkit.clock import Clock
from labkit.cloud import Cloud
from labkit.errors import SagaFailed
from labkit.faults import Scenario
from labkit.lessons.sagas_world import FullZone, LockedZone, Steps, timed
from labkit.saga import SagaLog, SagaStep, run_saga

REFUSED = "p1@cloud3.before+error"  # the schedule: step 3 fails once, and works when it is asked again
IN_THE_UNDO = f"{REFUSED},p1@cloud4.after+crash"  # then the process dies when its first undo has happened
EFFECT_WITHOUT_RECORD = "p1@cloud2.after+crash"
LOST = "p1@cloud2.after+timeout"  # the route is there, and nobody says so

Way = Callable[[Steps, SagaLog], None]
Keyless = Callable[[str | None], object]


def undo(step: SagaStep, saga_id: str) -> bool:
    """Whether the undo worked. The chapter writes a line into its log when it did not, and goes on."""
    try:
        if step.compensate:
            step.compensate(f"{saga_id}:{step.name}:undo")
    except Exception:
        return False
    return True


def forward_order(steps: Steps, log: SagaLog) -> None:
    """Common error 3, the BAD listing: the undo begins where the work began. Breaks as soon as a step fails."""
    done: list[SagaStep] = []
    for step in steps:
        try:
            step.execute(f"{log.saga_id}:{step.name}:do")
        except Exception as error:
            for one in done:
                undo(one, log.saga_id)
            raise SagaFailed(step=step.name) from error
        done.append(step)


def in_memory(steps: Steps, log: SagaLog) -> None:
    """The GOOD listing: in reverse. What is done is a list of this process. Breaks on a crash in the undo."""
    done: list[SagaStep] = []
    for step in steps:
        try:
            step.execute(f"{log.saga_id}:{step.name}:do")
        except Exception as error:
            for one in reversed(done):
                undo(one, log.saga_id)
            raise SagaFailed(step=step.name) from error
        done.append(step)


def without_keys(steps: Steps, log: SagaLog) -> None:
    """The same, and nothing has a key, as in the chapter. Breaks on a crash while anything is there."""
    in_memory([_keyless(step) for step in steps], log)


def _keyless(step: SagaStep) -> SagaStep:
    act, back = cast("Keyless", step.execute), cast("Keyless", step.compensate)
    return replace(step, execute=lambda key: act(None), compensate=lambda key: back(None))


def only_done(steps: Steps, log: SagaLog) -> None:
    """A durable log of what is done; who comes after a crash takes that back. Breaks between an effect and its record."""
    if not log.entries():
        act_and_record(steps, log)
    recorded = [step for _, step in log.entries()]
    if len(recorded) == len(steps):
        return
    for step in reversed(steps):
        if step.name in recorded:
            undo(step, log.saga_id)
    raise SagaFailed()


def act_and_record(steps: Steps, log: SagaLog) -> None:
    """Forward until something fails."""
    for step in steps:
        try:
            step.execute(f"{log.saga_id}:{step.name}:do")
        except Exception:
            return
        # crash here: the effect is there, and whoever comes takes back everything but it
        log.append("done", step.name)


def lost_is_failed(steps: Steps, log: SagaLog) -> None:
    """The library's saga, told that a lost answer is a no. Breaks when it was a yes."""
    run_saga([replace(step, unknown=lambda error: False) for step in steps], log)


def stops(steps: Steps, log: SagaLog) -> None:
    """In reverse, and an undo that fails is an error like any other. Breaks when one does: the others are never tried."""
    done: list[SagaStep] = []
    for step in steps:
        try:
            step.execute(f"{log.saga_id}:{step.name}:do")
        except Exception:
            for one in reversed(done):
                if one.compensate:
                    one.compensate(f"{log.saga_id}:{one.name}:undo")
            raise
        done.append(step)


def durable(steps: Steps, log: SagaLog) -> None:
    """The library's."""
    run_saga(steps, log)


def deployment(way: Way, far_side: type[Cloud] = Cloud, name: str = "") -> Scenario:
    """The four steps under a way to take them back."""
    return timed(partial(_untimed, way=way), far_side, name or way.__name__)


def _untimed(steps: Steps, log: SagaLog, clock: Clock, way: Way) -> None:
    way(steps, log)


def full_zone(way: Way) -> Scenario:
    """Step 3 never works, whoever asks."""
    return deployment(way, FullZone, f"full_zone.{way.__name__}")


def locked_zone(way: Way) -> Scenario:
    """Step 4 never works, and the undo of step 3 neither."""
    return deployment(way, LockedZone, f"locked_zone.{way.__name__}")


BROKEN: dict[str, tuple[Scenario, str]] = {
    "the undo in forward order": (deployment(forward_order), REFUSED),
    "a list in memory": (deployment(in_memory), IN_THE_UNDO),
    "a list in memory, and no keys": (full_zone(without_keys), "p1@cloud1.after+crash"),
    "a log of what is done": (deployment(only_done), EFFECT_WITHOUT_RECORD),
    "a lost answer taken for a no": (deployment(lost_is_failed), LOST),
    "an undo that fails stops the others": (locked_zone(stops), "none"),
    "an undo that fails is not told": (locked_zone(in_memory), "none"),
}
