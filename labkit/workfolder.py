"""The learner's copy of the lessons and exercises: nothing that a learner changed is ever overwritten.

`fill` remembers what it copied. A file in which nobody changed a cell is replaced when the original is newer (its outputs are no loss: they
come back by running it); one that was changed is kept and said so. Every write is a new file put in place of the old one, so a crash here
leaves the old or the new version, never half of one.

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

MEMORY = ".labkit"  # in the work folder: `copied.json`, and `passed/` with an empty file per exercise
FIRST = "notebooks/00-start-here.ipynb"


@dataclass
class Filled:
    """What `fill` did with each file: copied, updated, same, or kept (the learner changed it and there is a newer original)."""

    folder: Path
    did: dict[str, str] = field(default_factory=dict)

    def names(self, did: str) -> list[str]:
        return [name for name, what in self.did.items() if what == did]

    def text(self) -> str:
        """Lines for a person; a learner's file that was left alone is named."""
        lines = [f"{self.folder}: {len(self.names('copied'))} files copied, {len(self.names('updated'))} updated"]
        for name in self.names("kept"):
            lines.append(f"kept as you changed it: {name} (for the newer one: labkit reset {Path(name).stem})")
        return "\n".join(lines)


def fill(folder: Path) -> Filled:
    """Copy what is missing, update what is untouched, keep what was changed."""
    _refuse_odd(folder)
    memory, done = _recall(folder), Filled(folder)
    for name, source in _originals().items():
        data = source.read_bytes()
        done.did[name] = what = _decide(folder / name, data, memory.get(name))
        if what in ("copied", "updated"):
            _write(folder / name, data)
            _trust(data)
        # subtle: a kept file's original is remembered too, so a newer one is announced once, not at every start.
        memory[name] = _trace(data)
    _remember(folder, memory)
    return done


def reset(exercise: str, start: Path | None = None) -> str:
    """Bring one notebook back, found by exercise id or by file name; the learner's version stays beside it. Says what it did."""
    folder = find(start)
    if folder is None:
        raise UsageError("there is no work folder here: go into it, or make one with labkit lab")
    name, source = _named(exercise)
    target, data = folder / name, source.read_bytes()
    if target.exists() and target.read_bytes() == data:
        return f"{name} is as it was: nothing to bring back"
    aside = _put_aside(target)
    _write(target, data)
    _trust(data)
    _remember(folder, _recall(folder) | {name: _trace(data)})
    return f"{name} is new again" + (f", yours is kept as {aside.relative_to(folder).as_posix()}" if aside else "")


def passed(ids: Iterable[str] = (), start: Path | None = None) -> list[str]:
    """Remember these exercises as passed, and name all that were; outside of a work folder nothing is remembered."""
    folder = find(start)
    if folder is None:
        return []
    marks = folder / MEMORY / "passed"
    for exercise in ids:
        if re.fullmatch(r"[A-Za-z0-9_-]+", exercise):
            marks.mkdir(parents=True, exist_ok=True)
            (marks / exercise).touch()
    return sorted(mark.name for mark in marks.iterdir()) if marks.is_dir() else []


def progress(start: Path | None = None) -> str:
    """One line per exercise, in the order of the material, and the sum."""
    done, names = set(passed(start=start)), exercises()
    lines = [f"{'passed' if exercise in done else '-':8}{exercise:16}{name}" for exercise, name in names.items()]
    return "\n".join([*lines, f"{len(done & names.keys())} of {len(names)} exercises passed"])


def exercises() -> dict[str, str]:
    """Exercise id -> its notebook below the work folder."""
    found = {}
    for name, source in _originals().items():
        if name.startswith("exercises/") and name.endswith(".ipynb"):
            for cell in json.loads(source.read_bytes())["cells"]:
                about = cell["metadata"].get("labkit", {})
                if about.get("role") == "solution":
                    found[about["id"]] = name
    return found


def find(start: Path | None = None) -> Path | None:
    """The work folder that `start` (default: the current folder) lies in, or the one called `work` in it."""
    here = (start or Path.cwd()).absolute()
    candidates = [here, here / "work", *here.parents]
    return next((folder for folder in candidates if (folder / MEMORY / "copied.json").is_file()), None)


def _refuse_odd(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, not a folder")
    if folder.resolve() == material.folder("notebooks").parent:
        raise UsageError("the work folder must be another one than the one that holds the originals")


def _originals() -> dict[str, Path]:
    """Name below the work folder -> original; the graders' manifest is nothing for a learner."""
    every = [(kind, path) for kind in material.KINDS for path in material.files(kind)]
    return {f"{kind}/{path.as_posix()}": material.folder(kind) / path for kind, path in every if path.name != "manifest.json"}


def _named(exercise: str) -> tuple[str, Path]:
    originals, by_id = _originals(), exercises()
    name = by_id.get(exercise) or next((name for name in originals if Path(name).stem == exercise), None)
    if name is None:
        raise UsageError(f"no exercise is called {exercise!r}; there are {', '.join(by_id) or 'none'}")
    return name, originals[name]


def _decide(target: Path, original: bytes, copied: Any) -> str:
    """What to do with one file, given its original and the trace of the original that was there last time."""
    if not target.exists():
        return "copied"
    there, new = _trace(target.read_bytes()), _trace(original)
    old = copied if isinstance(copied, dict) else {}
    if there == new or old == new:
        return "same"
    return "updated" if there["cells"] == old.get("cells") else "kept"


def _trace(data: bytes) -> dict[str, str]:
    """The digest of a file, and that of what a person writes in it: a notebook's cells without outputs, counts and metadata."""
    try:
        cells = [[cell["cell_type"], "".join(cell["source"])] for cell in json.loads(data)["cells"]]
        written = json.dumps(cells).encode()
    except (ValueError, TypeError, KeyError):
        written = data
    return {"file": hashlib.sha256(data).hexdigest(), "cells": hashlib.sha256(written).hexdigest()}


def _put_aside(target: Path) -> Path | None:
    """Rename the learner's version to the first free `NAME.yours-N.ipynb`."""
    if not target.exists():
        return None
    number = 1
    while (aside := target.with_name(f"{target.stem}.yours-{number}{target.suffix}")).exists():
        number += 1
    return target.rename(aside)


def _recall(folder: Path) -> dict[str, Any]:
    """The traces of what was copied; a damaged memory is an empty one, which overwrites nothing."""
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
