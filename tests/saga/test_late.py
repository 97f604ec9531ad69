"""The action that lands after its undo: what a saga can promise, and what it takes to promise more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from labkit.cloud import Cloud
from labkit.errors import TerminalError
from labkit.faults import End, Process, Scenario, Schedule, open_world
from labkit.faults.runner import Runner
from labkit.retry import RetryPolicy
from labkit.saga import Saga, SagaLog, SagaStep
from tests.saga.worlds import how

LATE = "p1@cloud1.before+late({})"


class Tombstones(Cloud):
    """A far side that refuses an action whose undo it has seen."""

    def perform(self, name: str, target: str, key: str | None) -> str:
        undo = f"{(key or '').removesuffix(':do')}:undo"
        if any(effect.key == undo != key for effect in self.effects()):
            raise TerminalError(f"{name} {target} was undone before it came")
        return super().perform(name, target, key)


def gated(process: Process, kind: type[Cloud]) -> Cloud:
    """A cloud of this kind behind the process's gate."""
    return kind(process.world.ledger, process.world.clock, by=process.name, hook=process._call_cloud)


def play(seconds: float, *, far_side: type[Cloud] = Cloud, retry: RetryPolicy | None = None, rest: float = 0.0) -> End:
    """One step whose action comes so much too late; before its undo the process rests."""

    def body(process: Process) -> object:
        cloud = gated(process, far_side)

        def undo(key: str) -> None:
            process.clock.sleep(rest)
            cloud.remove_container("shop", key=key)

        step = SagaStep("deploy", lambda key: cloud.deploy_container("shop", key=key), undo, retry)
        return how(lambda: Saga([step], clock=process.clock).run(SagaLog(process.engine, "s1")))

    with open_world("memory") as world:
        end = Runner(Scenario("saga.late", body), world).run(Schedule.parse(LATE.format(seconds)))[0]
    assert not end.unreached
    return end


def test_an_action_that_lands_before_its_undo_is_undone() -> None:
    """The order of the log is enough as long as the action is there when the undo comes."""
    end = play(5, rest=10)
    assert (["failed", "deploy"], {}) == (end.last.value, dict(end.resources))


def test_an_action_that_lands_after_its_undo_stays() -> None:
    """What no saga can promise by itself: the undo found nothing, said so, and the container came afterwards."""
    end = play(5)
    assert (["failed", "deploy"], {"container shop": 1}) == (end.last.value, dict(end.resources))
    assert [False, True] == [effect.changed for effect in end.effects]


def test_another_try_under_the_key_makes_the_late_one_harmless() -> None:
    """Asked again, the world answers; what lands later under the same key changes nothing: everything exists once."""
    end = play(5, retry=RetryPolicy(base=1.0))
    assert (["completed", None], {"container shop": 1}) == (end.last.value, dict(end.resources))


def test_a_tombstone_refuses_the_late_action() -> None:
    """A far side that knows which action an undo belongs to needs no luck: nothing is left."""
    end = play(5, far_side=Tombstones)
    assert (["failed", "deploy"], {}) == (end.last.value, dict(end.resources))


@pytest.mark.parametrize("act", [Cloud.deploy_container, Cloud.create_namespace])
def test_the_tombstone_lets_others_through(act: Callable[..., str]) -> None:
    """It stands for one action only."""

    def body(process: Process) -> object:
        cloud = gated(process, Tombstones)
        cloud.remove_container("shop", key="s1:a:undo")
        return act(cloud, "shop", key="s1:b:do")

    with open_world("memory") as world:
        end = Runner(replace(Scenario("saga.tomb", body)), world).run(Schedule())[0]
    assert "returned" == end.last.how
