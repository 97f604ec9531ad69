"""Drawn tasks, checkpoints and limits of `checkpoint`: other ids, numbers, ages, states, and how many may stay for how long.

Not handled here: making the calls (see `checkpoint_cases`), and clocks that were stepped (the fixed cases have them).
"""

from __future__ import annotations

from datetime import timedelta
from random import Random

from labkit.checks.checkpoint_shelf import Row
from labkit.checks.checkpoint_stories import CORRUPT, EXPIRED, NOT_FOUND, NOT_RESUMABLE, Cleanup, Resume
from labkit.checks.drawn.words import name, names, text
from labkit.clock import STORY_BEGINS
from labkit.task import Task, TaskState

WHY = "right for the fixed inputs only"
GO_ON = ("running", "waiting", "failed")


def tasks(rng: Random) -> tuple[Task, ...]:
    """A task with something in each of its fields."""
    made = STORY_BEGINS - timedelta(days=rng.randrange(1, 300), microseconds=rng.randrange(10**6))
    state = rng.choice((TaskState.RUNNING, TaskState.WAITING))
    numbers = {"priority": rng.randrange(-9, 10), "attempt": rng.randrange(1, 30), "version": rng.randrange(2, 50)}
    texts = {"result": text(rng), "error": text(rng), "worker_id": name(rng), "idempotency_key": name(rng)}
    ends = made + timedelta(hours=rng.randrange(1, 50))
    return (Task(name(rng), text(rng), state, created_at=made, updated_at=made, available_at=made, lease_expires_at=ends, **texts, **numbers),)  # type: ignore[arg-type]


def _seqs(rng: Random, count: int) -> list[int]:
    return sorted(rng.sample(range(13, 400), count))


def resumes(rng: Random) -> dict[str, tuple[Resume, ...]]:
    """One call for each thing that is asked: the newest of several checkpoints, in a state and of an age that are drawn."""
    limit = timedelta(seconds=rng.randrange(700, 20_000))
    most, ids = limit.total_seconds(), iter(names(rng, 7))
    fresh, old = most - rng.randrange(1, 600), most + rng.randrange(1, 600)

    def one(state: str, age: float, wanted: str = "", damage: str = "") -> Resume:
        seqs = _seqs(rng, rng.randrange(1, 5))
        older = [Row(seq, age + 10.0 * (seqs[-1] - seq), rng.choice(GO_ON)) for seq in seqs[:-1]]
        return Resume(next(ids), (*older, Row(seqs[-1], age, state, damage)), wanted or seqs[-1], WHY, limit)

    return {
        "found": (one(rng.choice(GO_ON), fresh),),
        "age": (one(rng.choice(GO_ON), old, EXPIRED), one(rng.choice(GO_ON), most)),
        "state": (one(rng.choice(("pending", "cancelled")), old, NOT_RESUMABLE),),
        "completed": (one("completed", old),),
        "damaged": (one(rng.choice(GO_ON), fresh, CORRUPT, rng.choice(("torn", "changed"))),),
        "missing": (Resume(next(ids), (), NOT_FOUND, WHY, limit),),
    }


def cleanups(rng: Random) -> tuple[Cleanup, ...]:
    """Some checkpoints that get younger, of which some may be too many and some too old."""
    return tuple(_cleanup(rng, one) for one in names(rng, 3))


def _cleanup(rng: Random, task_id: str) -> Cleanup:
    ages = sorted(rng.sample(range(100, 30_000), rng.randrange(4, 10)), reverse=True)
    rows = tuple(Row(seq, float(age)) for seq, age in zip(_seqs(rng, len(ages)), ages, strict=True))
    return Cleanup(task_id, rows, rng.randrange(1, len(ages)), max_age=timedelta(seconds=rng.choice(ages[1:-1]) + rng.randrange(2)))
