"""labkit: `saga` runs a saga of n steps, `checkpoint` saves n checkpoints of one task, each with its pruning."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta

from runner import play

from labkit.checkpoint import CheckpointManager, CheckpointStore
from labkit.clock import SystemClock
from labkit.commit import keeping
from labkit.database import open_engine
from labkit.saga import SagaLog, SagaStep, run_saga
from labkit.tables import create_tables
from labkit.task import Task, TaskState


def nothing(key: str) -> None:
    """A step whose effect costs nothing."""


def prepare(url: str):  # type: ignore[no-untyped-def]
    engine = open_engine(url)
    create_tables(engine)

    def saga(name: str, steps: int) -> None:
        with keeping(engine):
            run_saga([SagaStep(f"step-{n}", nothing, nothing) for n in range(steps)], SagaLog(engine, name))

    def checkpoint(name: str, steps: int) -> None:
        manager = CheckpointManager(CheckpointStore(engine), SystemClock(), strategy="every_step", max_age=timedelta(days=1), max_count=10)
        task = Task(name, "deploy shop", TaskState.RUNNING)
        with keeping(engine):
            for step in range(steps):
                manager.maybe_save(replace(task, attempt=step), "every_step")

    return {"saga": saga, "checkpoint": checkpoint}[HOW]


HOW = sys.argv.pop()
play(prepare)
