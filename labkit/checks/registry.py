"""All exercises, in the order in which a course takes them: labkit's own, then those of a course that adds some.

A course's own exercises are modules `<id>.py`, each with an `EXERCISE`, in the folder that `LABKIT_EXERCISES` names. They are run with full rights,
as labkit itself is.

Not handled here: loading them before somebody asks.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

from labkit.checks.exercise import Exercise, seed_of
from labkit.errors import UsageError
from labkit.material import EXERCISES
from labkit.material import OWN_EXERCISES as FOLDER

IDS = EXERCISES  # labkit's own


def ids() -> tuple[str, ...]:
    """The ids of all exercises there are. Raises `UsageError` for a folder that is not there, or that takes one of our ids."""
    named = os.environ.get(FOLDER, "")
    return (*IDS, *_own(named)) if named else IDS


def find(exercise: str, seed: int | None = None) -> Exercise:
    """The exercise with this id, with a seed also with the cases that are drawn from it; raises `UsageError` naming those that exist."""
    if exercise not in ids():
        raise UsageError(f"there is no exercise {exercise!r}; {known()}")
    folder = "" if exercise in IDS else os.environ[FOLDER]
    return _fixed(exercise, folder) if seed is None else _seeded(exercise, folder, seed)


def known() -> str:
    """Which exercises there are, for an error message; and how a course adds its own, where none did."""
    own = "" if os.environ.get(FOLDER) else f" (for a course's own {FOLDER} names the folder with their checks)"
    return f"there are {', '.join(ids())}{own}"


def with_case(exercise: str, case: str) -> Exercise:
    """The exercise to which a case of this name belongs: one that was drawn says in its name from which seed."""
    return find(exercise, seed_of(case))


def _fixed(exercise: str, folder: str) -> Exercise:
    return _load_own(exercise, folder) if folder else _load(exercise)


@lru_cache(maxsize=32, typed=True)
def _seeded(exercise: str, folder: str, seed: int) -> Exercise:
    return _fixed(exercise, folder).seeded(seed)


@cache
def _load(exercise: str) -> Exercise:
    found: Exercise = import_module(f"labkit.checks.{exercise}").EXERCISE
    return found


@cache
def _own(folder: str) -> tuple[str, ...]:
    if not os.path.isabs(folder):  # processes that run answers work in folders of their own
        raise UsageError(f"{FOLDER} names {folder}: name the folder by its whole path, from the root on")
    if not Path(folder).is_dir():
        raise UsageError(f"{FOLDER} names {folder}, which is no folder: let it name the one with a module per exercise, or unset it")
    found = tuple(sorted(path.stem for path in Path(folder).glob("*.py") if not path.stem.startswith("_")))
    taken = next((one for one in found if one in IDS), "")
    if taken:
        raise UsageError(f"{folder}/{taken}.py: labkit has an exercise {taken} already; give it another name")
    return found


@cache
def _load_own(exercise: str, folder: str) -> Exercise:
    """Raises `UsageError` where the module cannot be used, whatever is wrong with it."""
    path = Path(folder) / f"{exercise}.py"
    spec = importlib.util.spec_from_file_location(f"labkit_exercise_{exercise}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = module.EXERCISE
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path} cannot be used: {type(error).__name__}: {error}") from None
    if not isinstance(found, Exercise) or found.id != exercise:
        raise UsageError(f"{path} must hold an EXERCISE whose id is {exercise!r}")
    return found


def every() -> list[Exercise]:
    return [find(exercise) for exercise in ids()]
