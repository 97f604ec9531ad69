"""Drawn rows of `invariant`: fixed runs under other names, several of them woven into one.

What happens to one task is no business of another, so runs whose tasks and workers have different names can be woven together in any order that keeps each
one's own: all fine gives a fine run, and one broken among them a run that is broken in its way.

Not handled here: kinds of trouble that no fixed run shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from labkit.checks.drawn.words import names, words
from labkit.checks.invariant_row import Row, edited
from labkit.checks.invariant_rows import BROKEN, FINE
from labkit.invariants.events import TraceEvent
from labkit.invariants.trace import Trace
from labkit.task import Task

WHY = "right for the fixed runs only"
WOVEN = "drawn"
FEW = 30  # events of a run that is woven with others


def rows(rng: Random) -> dict[str, Sequence[Row]]:
    """Rows by the fixed case that they are like: a run of it by itself under other names, and one among others."""
    drawn: dict[str, Sequence[Row]] = {}
    for name, fixed in {**FINE, **BROKEN}.items():
        if name != "nothing":
            alone, first = rng.choice(fixed), fixed[0]
            drawn[name] = [_row(rng, alone, []), _row(rng, rng.choice(fixed), _others(rng)), _row(rng, first, _others(rng))]
    return drawn


def _others(rng: Random) -> list[Trace]:
    """Fine runs of a few tasks."""
    short = [row.trace for rows in FINE.values() for row in rows if 0 < len(row.trace.events) <= FEW]
    return rng.sample(short, rng.randrange(1, 4))


def _row(rng: Random, row: Row, others: Sequence[Trace]) -> Row:
    trace = _woven(rng, [row.trace, *others])
    if row.breaks:
        return edited(WOVEN, trace, row.breaks, WHY)
    return replace(row, run=WOVEN, says=f"{row.says} (among others)" if others else row.says, why=WHY, trace=trace)


def _woven(rng: Random, traces: Sequence[Trace]) -> Trace:
    """One run of all of them under names of its own, each in its own order."""
    named = _Names(rng, traces)
    ways = [[named.event(number, event) for event in trace.events] for number, trace in enumerate(traces)]
    turns = [number for number, way in enumerate(ways) for _ in way]
    rng.shuffle(turns)
    taken = [iter(way) for way in ways]
    tasks = [named.task(number, task) for number, trace in enumerate(traces) for task in trace.tasks.values()]
    rng.shuffle(tasks)
    return Trace(WOVEN, (), {task.id: task for task in tasks}, tuple(next(taken[turn]) for turn in turns))


Old = TypeVar("Old")


def _new(rng: Random, old: Sequence[Old]) -> dict[Old, str]:
    return dict(zip(old, names(rng, len(old)), strict=True))


class _Names:
    """New names for tasks, workers, steps and keys. Tasks and workers of different runs get different ones, steps and effects of one name the same."""

    def __init__(self, rng: Random, traces: Sequence[Trace]) -> None:
        events = [(number, event) for number, trace in enumerate(traces) for event in trace.events]
        tasks = sorted({(number, event.task_id) for number, event in events})
        workers = sorted({(number, event.worker) for number, event in events if event.worker})
        called = sorted({event.name for _, event in events if event.name and event.kind != "progress"})
        keys = sorted({(number, event.key) for number, event in events if event.key})
        self._tasks, self._workers = _new(rng, tasks), _new(rng, workers)
        self._names, self._keys = _new(rng, called), _new(rng, keys)
        self._input = words(rng, 1)[0]

    def event(self, number: int, event: TraceEvent) -> TraceEvent:
        return TraceEvent(
            event.kind,
            self._tasks[number, event.task_id],
            self._workers.get((number, event.worker), ""),
            event.attempt,
            event.name if event.kind == "progress" else self._names.get(event.name, ""),
            self._keys.get((number, event.key), ""),
        )

    def task(self, number: int, task: Task) -> Task:
        worker = task.worker_id and self._workers.get((number, task.worker_id), task.worker_id)
        return replace(task, id=self._tasks[number, task.id], user_input=self._input, worker_id=worker)
