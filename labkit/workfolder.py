"""The learner's copy of the lessons and exercises: nothing that a learner changed is ever overwritten.

`fill` remembers what it copied. A file in which nobody changed a cell is replaced when the original is newer (its outputs are no loss: they
come back by running it); one that was changed is kept and said so. Every write is a new file put in place of the old one, so a crash here
leaves the old or the new version, never half of one. What stands in the way of one file stops no other file: it is told.

Not handled here: what happens inside the notebooks, and two `fill`s of one folder at the same time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit import material
from labkit.errors import UsageError
from labkit.plural import counted

MEMORY = ".labkit"  # in the work folder: `copied.json`, and `passed/` with an empty file per exercise
FIRST = "notebooks/00-start-here.ipynb"


@dataclass
class Filled:
    """What `fill` did with each file: copied, updated, same, kept (the learner changed it and there is a newer original), or blocked (see `why`)."""

    folder: Path
    did: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)  # what is in the way of a file, and what to do about it

    def names(self, did: str) -> list[str]:
        return [name for name, what in self.did.items() if what == did]

    def text(self) -> str:
        """Lines for a person; a learner's file that was left alone is named."""
        lines = [f"{self.folder}: {counted(len(self.names('copied')), 'file')} copied, {len(self.names('updated'))} updated"]
        lines += [f"not copied: {name}: {self.why[name]}" for name in self.names("blocked")]
        for name in self.names("kept"):
            lines.append(f"kept as you changed it: {name} (for the newer one: labkit reset {Path(name).stem})")
        return "\n".join(lines)


def fill(folder: Path) -> Filled:
    """Copy what is missing, update what is untouched, keep what was changed."""
    _make(folder)
    memory, done = _recall(folder), Filled(folder)
    for name, source in _originals().items():
        data = source.read_bytes()
        try:
            done.did[name] = _fill_one(folder, name, data, memory.get(name))
        except (UsageError, OSError) as error:
            done.did[name], done.why[name] = "blocked", getattr(error, "strerror", None) or str(error)
            continue
        # subtle: a kept file's original is remembered too, so a newer one is announced once, not at every start.
        memory[name] = _digests(data)
    _remember(folder, memory)
    return done


def _fill_one(folder: Path, name: str, data: bytes, copied: Any) -> str:
    """Bring one file up to date; returns what was done with it."""
    _refuse_blocked(folder, name)
    what = _decide(folder / name, data, copied)
    if what in ("copied", "updated"):
        _write(folder / name, data)
        _trust(data)
    return what


def _refuse_blocked(folder: Path, name: str) -> None:
    """Raise `UsageError` where a folder stands in the place of a file, or a file in that of a folder."""
    target = folder / name
    if target.is_dir():
        raise UsageError(f"{name} is a folder: move it away")
    for above in Path(name).parents:
        if (folder / above).exists() and not (folder / above).is_dir():
            raise UsageError(f"{above.as_posix()} is a file, not a folder: move it away")


def reset(exercise: str, start: Path | None = None) -> str:
    """Bring one notebook back, found by exercise id, file name or path; the learner's version stays beside it. Says what it did."""
    folder = need(start)
    name, source = _named(exercise, folder)
    _refuse_blocked(folder, name)
    target, data, memory = folder / name, source.read_bytes(), _recall(folder)
    if target.exists() and target.read_bytes() == data:
        return f"{name} is as it was: nothing to bring back"
    aside = None if _untouched(target, data, memory.get(name)) else _put_aside(target)
    _write(target, data)
    _trust(data)
    _remember(folder, memory | {name: _digests(data)})
    return f"{name} is new again" + (f", yours is kept as {aside.relative_to(folder).as_posix()}" if aside else "")


def mark_passed(exercise: str, start: Path | None = None) -> None:
    """Remember that this exercise was passed; outside of a work folder nothing is remembered."""
    folder = find(start)
    if folder is not None and re.fullmatch(r"[A-Za-z0-9_-]+", exercise):
        (folder / MEMORY / "passed").mkdir(parents=True, exist_ok=True)
        (folder / MEMORY / "passed" / exercise).touch()


def passed_ids(start: Path | None = None) -> set[str]:
    """The exercises that were passed; none outside of a work folder."""
    folder = find(start)
    marks = folder / MEMORY / "passed" if folder else None
    return {*os.listdir(marks)} if marks and os.path.isdir(marks) else set()


def exercises() -> dict[str, str]:
    """Exercise id -> the notebook below the work folder that asks for it: one of its own, or a lesson."""
    found: dict[str, str] = {}
    for name, source in _originals().items():
        if name.endswith(".ipynb"):
            for cell in json.loads(source.read_bytes())["cells"]:
                about = cell["metadata"].get("labkit", {})
                if about.get("role") == "solution":
                    found[about["id"]] = name
    return found


def need(start: Path | None = None) -> Path:
    """The work folder, as `find` finds it; `UsageError` where there is none."""
    folder = find(start)
    if folder is None:
        raise UsageError("there is no work folder here: go into it, or make one with labkit lab")
    return folder


def find(start: Path | None = None) -> Path | None:
    """The work folder that `start` (default: the current folder) lies in, or the one called `work` in it."""
    here = (start or Path.cwd()).absolute()
    candidates = [here, here / "work", *here.parents]
    return next((folder for folder in candidates if os.path.isfile(folder / MEMORY / "copied.json")), None)


def _make(folder: Path) -> None:
    """Make the work folder. Raises `UsageError` where none can be."""
    file = next((path for path in (folder, *folder.parents) if os.path.exists(path) and not os.path.isdir(path)), None)
    if file is not None:
        raise UsageError(f"{file} is a file, not a folder")
    try:
        if material.holds(folder):
            raise UsageError(f"{folder} is where the originals are: a work folder must lie elsewhere")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror or error}") from None


def _originals() -> dict[str, Path]:
    """Name below the work folder -> original; the graders' manifest is nothing for a learner."""
    every = [(kind, path) for kind in material.KINDS for path in material.files(kind)]
    return {f"{kind}/{path.as_posix()}": material.folder(kind) / path for kind, path in every if path.name != "manifest.json"}


def _named(asked: str, folder: Path) -> tuple[str, Path]:
    """The original that is meant by an exercise's id, or by the name or path of a notebook."""
    originals, by_id = _originals(), exercises()
    here = Path(os.path.abspath(asked)) if "\0" not in asked else None
    name = by_id.get(asked) or next((name for name in originals if _means(asked, here, name, folder)), None)
    if name is None:
        raise UsageError(f"no exercise or lesson is called {asked!r}; there are {', '.join(_names(originals, by_id)) or 'none'}")
    return name, originals[name]


def _means(asked: str, here: Path | None, name: str, folder: Path) -> bool:
    path = Path(name)
    return asked in (path.stem, path.name) or Path(asked) == path or here == Path(os.path.abspath(folder / name))


def _names(originals: Iterable[str], by_id: dict[str, str]) -> list[str]:
    """What can be asked for: the exercises in the order of the course, then the lessons."""
    order = {exercise: place for place, exercise in enumerate(material.EXERCISES)}
    ordered = sorted(by_id, key=lambda id: order.get(id, len(order)))
    return ordered + [Path(name).stem for name in originals if name.startswith("notebooks/") and name.endswith(".ipynb")]


def _decide(target: Path, original: bytes, copied: Any) -> str:
    """What to do with one file, given its original and the digests of the original that was there last time."""
    if not target.exists():
        return "copied"
    new = _digests(original)
    if new in (copied, _digests(target.read_bytes())):
        return "same"
    return "updated" if _untouched(target, original, copied) else "kept"


def _untouched(target: Path, original: bytes, copied: Any) -> bool:
    """Whether no cell differs from the original, or from the one that was there last time: to run or to save a file is no change."""
    if not target.exists():
        return True
    old = copied if isinstance(copied, dict) else {}
    return _digests(target.read_bytes())["cells"] in (_digests(original)["cells"], old.get("cells"))


def _digests(data: bytes) -> dict[str, str]:
    """The digest of a file, and that of what a person writes in it: a notebook's cells without outputs, counts and metadata."""
    try:
        cells = [[cell["cell_type"], "".join(cell["source"])] for cell in json.loads(data)["cells"]]
        written = json.dumps(cells).encode()
    except (ValueError, TypeError, KeyError):
        written = data
    return {"file": hashlib.sha256(data).hexdigest(), "cells": hashlib.sha256(written).hexdigest()}


def _put_aside(target: Path) -> Path:
    """Rename the learner's version to the first free `NAME.yours-N.ipynb`."""
    number = 1
    while (aside := target.with_name(f"{target.stem}.yours-{number}{target.suffix}")).exists():
        number += 1
    return target.rename(aside)


def _recall(folder: Path) -> dict[str, Any]:
    """The digests of what was copied; a damaged memory is an empty one, which overwrites nothing."""
    try:
        memory = json.loads((folder / MEMORY / "copied.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _remember(folder: Path, memory: dict[str, Any]) -> None:
    _write(folder / MEMORY / "copied.json", json.dumps(memory, indent=1, sort_keys=True).encode() + b"\n")


def _trust(data: bytes) -> None:
    """Sign a notebook of ours as Jupyter does what it ran itself: without that JupyterLab hides the stored pictures until each cell was run."""
    try:
        import nbformat
        from nbformat.sign import NotebookNotary
    except ImportError:  # no Jupyter here: nobody looks at the pictures
        return
    try:
        notary: Any = NotebookNotary
        read: Any = nbformat.from_dict
        notary().sign(read(json.loads(data)))
    except (ValueError, TypeError, OSError):  # no notebook, or no place for signatures
        return


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(target.name + ".new")
    beside.write_bytes(data)
    os.replace(beside, target)
