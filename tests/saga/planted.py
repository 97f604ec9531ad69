"""Sagas with one bug each, over the same deployment: the checks of the others mean nothing unless these are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from labkit.errors import SagaFailed
from labkit.faults import Process, Scenario
from labkit.saga import SagaLog, SagaStep, run_saga
from tests.saga import worlds

NO_KEY: Any = None
RunSaga = Callable[[Sequence[SagaStep], SagaLog], None]


def in_memory(steps: Sequence[SagaStep], log: SagaLog, *, forward_order: bool = False, keys: bool = True) -> None:
    """What is done is a list of this process: a crash forgets it. Without keys the world cannot tell a second time either."""
    done: list[SagaStep] = []
    for step in steps:
        try:
            step.execute(f"{log.saga_id}:{step.name}:do" if keys else NO_KEY)
        except Exception as error:
            for one in done if forward_order else reversed(done):
                if one.compensate is not None:
                    one.compensate(f"{log.saga_id}:{one.name}:undo" if keys else NO_KEY)
            raise SagaFailed(step=step.name) from error
        done.append(step)


def unknown_is_failed(steps: Sequence[SagaStep], log: SagaLog) -> None:
    """A lost answer is taken for a refusal, so what it did stays."""
    run_saga([replace(step, unknown=lambda error: False) for step in steps], log)


def _play(process: Process, run: RunSaga, fails: dict[str, object]) -> list[object]:
    steps = worlds.deployment_steps(process, **fails)  # type: ignore[arg-type]
    return worlds.called_again(process, lambda log: run(steps, log))


def planted(name: str, run: RunSaga, **fails: object) -> Scenario:
    good = worlds.scenario(f"planted.{name}", **fails)
    return replace(good, run=partial(_play, run=run, fails=fails), invariants=[worlds.all_or_nothing])


PLANTED = [
    planted("forward_order", partial(in_memory, forward_order=True), fail="create_dns_record"),
    planted("no_keys", partial(in_memory, keys=False)),
    planted("unknown_is_failed", unknown_is_failed, fail="deploy_container", kind="unknown", landed=True),
]
