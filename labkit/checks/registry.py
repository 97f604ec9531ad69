"""All exercises, in the order in which a course takes them.

Not handled here: loading them before somebody asks.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from labkit.checks.exercise import Exercise
from labkit.errors import UsageError

IDS = (
    "warmup", "retry", "backoff", "idempotency", "deadline", "resume", "patch", "context",
    "checkpoint", "claim", "lease", "backpressure", "saga", "deploy_saga", "endpoint", "sse", "agent",
)  # fmt: skip


def find(exercise: str) -> Exercise:
    """The exercise with this id; raises `UsageError` naming those that exist."""
    if exercise not in IDS:
        raise UsageError(f"there is no exercise {exercise!r}; there are {', '.join(IDS)}")
    return _load(exercise)


@cache
def _load(exercise: str) -> Exercise:
    found: Exercise = import_module(f"labkit.checks.{exercise}").EXERCISE
    return found


def every() -> list[Exercise]:
    return [find(exercise) for exercise in IDS]
