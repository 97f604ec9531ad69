"""Where the lessons and the exercises lie: the same call finds them in a checkout and in an installed wheel.

Read-only: learners work in a copy, see `workfolder`.

Not handled here: the solutions. They are in the checkout only, and no code of labkit looks for them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from labkit.errors import UsageError

Kind = Literal["notebooks", "exercises"]
KINDS: tuple[Kind, ...] = ("notebooks", "exercises")

EXERCISES = (  # in the order in which a course takes them
    "warmup", "retry", "backoff", "idempotency", "deadline", "resume", "patch", "context",
    "checkpoint", "claim", "lease", "backpressure", "saga", "deploy_saga", "endpoint", "sse", "agent", "invariant",
)  # fmt: skip
OWN_EXERCISES = "LABKIT_EXERCISES"  # names the folder with the checks of a course's own exercises
INSTRUCTOR = "instructor"  # beside the lessons, and not for learners

PACKAGE = Path(__file__).resolve().parent


def folder(kind: Kind) -> Path:
    """The folder of all lessons ("notebooks") or of all exercises; `UsageError` when they did not come along."""
    installed, checkout = PACKAGE / "_material" / kind, PACKAGE.parent / kind
    if installed.is_dir():
        return installed
    # subtle: beside an installed package any folder may be called `notebooks`; only a checkout has our pyproject.
    if (PACKAGE.parent / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    raise UsageError(f"the {kind} are not here: install labkit from its checkout or from a wheel built there")


def holds(path: Path) -> bool:
    """Whether a path is where the originals are: the folder around them, or anything in one of theirs."""
    there, tops = path.resolve(), [folder(kind).resolve() for kind in KINDS]
    return any(top == there or top in there.parents or top.parent == there for top in tops)


def own_exercises() -> dict[str, str]:
    """Where a course's own exercises are, as the part of an environment that a process must be given to find them."""
    named = os.environ.get(OWN_EXERCISES, "")
    return {OWN_EXERCISES: named} if named else {}


def files(kind: Kind) -> list[Path]:
    """Every file of one kind that is for learners, as paths below `folder(kind)`, sorted."""
    top = folder(kind)
    found = (path.relative_to(top) for path in top.rglob("*") if path.is_file())
    return sorted(path for path in found if path.parts[0] != INSTRUCTOR and ".ipynb_checkpoints" not in path.parts)
