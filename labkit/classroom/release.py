"""The learners' notebooks, made from the masters: no line of an answer is left in them, and that is proved for each release.

The answer leaves a `...` behind; outputs and counts go; every other cell is locked. The release of a release is the release. All notebooks
are made and proved before the first is written, so an error writes nothing.

Not handled here: an answer said in other words (in prose, or in a check's name). That takes a reader.
"""

from __future__ import annotations

import ast
import hashlib
import json
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.classroom import marks
from labkit.classroom.normalise import normalise
from labkit.classroom.notebook import Cell, Notebook, about, dump, find, lines, load, text, write
from labkit.errors import UsageError

ROLES = ("solution", "check", "setup", "prose", "canary")
SCHEMA = 1
MASTERS, RELEASE = "solutions", "exercises"  # the folders of a course
MANIFEST = "manifest.json"


class AnswerLeft(UsageError):
    """A line of an answer is still in the release."""


def release(master: Notebook, name: str) -> Notebook:
    """The learner's notebook; `name` is the master's in errors, and the assignment's unless the master names one."""
    book = normalise(master)
    answer: list[str] = []
    for number, cell in enumerate(book["cells"], 1):
        answer += _hand_out(cell, f"{name}, cell {number}")
    _check_ids(book, name)
    own = about(book)
    book["metadata"]["labkit"] = {
        "assignment": own.get("assignment", Path(name).stem),
        "schema": SCHEMA,
        "version": own.get("version", "1"),
    }
    book = normalise(book)
    _prove(book, answer, name)
    book["metadata"]["labkit"]["digest"] = _sha256(dump(book))
    return book


def _hand_out(cell: Cell, place: str) -> tuple[str, ...]:
    """Make one cell the learner's, in place, and give back the lines of the answer."""
    source, role = text(cell["source"]), _role(cell, place)
    cell["metadata"].pop("editable", None)
    cell["metadata"].pop("deletable", None)
    if cell["cell_type"] == "code":
        cell |= {"execution_count": None, "outputs": []}
    if role != "solution":
        if marks.marked(source, place, code=cell["cell_type"] == "code"):
            raise marks.MarkError(f"{place}: a solution mark in a cell whose role is not solution")
        cell["metadata"] |= {"deletable": False, "editable": False}
        return ()
    return _take_answer(cell, source, place)


def _take_answer(cell: Cell, source: str, place: str) -> tuple[str, ...]:
    anchor = f"# labkit: {about(cell)['id']}"
    if cell["cell_type"] != "code" or source.split("\n")[0].strip() != anchor:
        raise UsageError(f"{place}: a solution is a code cell whose first line is `{anchor}`")
    stripped = marks.strip(source, place)
    try:
        ast.parse(stripped.source)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{place}: without its answer the cell is no Python ({error})") from error
    if not any(line.strip().endswith(marks.STUB) for line in stripped.source.split("\n")):
        raise UsageError(f"{place}: the solution has no marks, so all of it would be handed out")
    cell["source"] = lines(stripped.source)
    return stripped.answer


def _role(cell: Cell, place: str) -> str | None:
    """The role of a cell, after a look at what `metadata.labkit` says; None where it says nothing."""
    said = about(cell)
    if not said:
        return None
    if said.get("role") not in ROLES or said.get("schema") != SCHEMA or not isinstance(said.get("id"), str):
        raise UsageError(f"{place}: metadata.labkit needs id, role ({', '.join(ROLES)}) and schema {SCHEMA}")
    points = said.get("points", 0)
    if isinstance(points, bool) or not isinstance(points, int) or points < 0:
        raise UsageError(f"{place}: points must be a whole number, not {points!r}")
    return str(said["role"])


def _check_ids(book: Notebook, name: str) -> None:
    ids = [about(cell)["id"] for cell in book["cells"] if about(cell)]
    doubled = sorted({id for id in ids if ids.count(id) > 1})
    if doubled:
        raise UsageError(f"{name}: the labkit id {doubled[0]!r} stands in two cells")


def _prove(book: Notebook, answer: list[str], name: str) -> None:
    """No telling line of the answer is a line of anything in the release: sources, metadata, attachments."""
    secret = {line.strip() for line in answer if telling(line)}
    cells = [(f"{name}, cell {number}", cell) for number, cell in enumerate(book["cells"], 1)]
    texts = [found for where, part in [*cells, (f"{name}, metadata", book["metadata"])] for found in _strings(part, where)]
    for place, said in texts:
        left = [line for line in said.splitlines() if line.strip() in secret]
        if left:
            raise AnswerLeft(f"{place}: a line of the answer is left: {left[0].strip()!r}")


def telling(line: str) -> bool:
    """Does this line give anything away? Keywords, brackets and imports alone do not."""
    if line.strip().startswith(("import ", "from ")):
        return False
    return any(not keyword.iskeyword(word) for word in re.findall(r"\w+", line))


def _strings(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every text in a notebook, with where it stands."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _strings(text(part) if key == "source" else part, f"{place}, {key}")
    elif isinstance(value, list):
        for number, part in enumerate(value, 1):
            yield from _strings(part, f"{place} {number}")


def release_all(masters: Path) -> dict[str, bytes]:
    """File name -> bytes of everything that the folder of masters releases, the manifest included."""
    paths = find([masters])
    if not masters.is_dir() or not paths:
        raise UsageError(f"{masters} holds no notebooks")
    named = {path.relative_to(masters).as_posix(): path for path in paths}
    books = {name: release(load(path), name) for name, path in named.items()}
    if not any(about(cell) for book in books.values() for cell in book["cells"]):
        raise UsageError(f"nothing to release in {masters}: no cell is marked (metadata.labkit with id, role and schema {SCHEMA})")
    manifest = {name: _manifest(book) for name, book in books.items()}
    files = {name: dump(book) for name, book in books.items()}
    return files | {MANIFEST: json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n"}


def _manifest(book: Notebook) -> dict[str, Any]:
    """What a grader expects of one notebook: each labkit cell in its order, with the digest of what was handed out."""
    cells = [
        {key: about(cell)[key] for key in ("id", "role")}
        | {"order": order, "points": about(cell).get("points", 0), "sha256": _sha256(text(cell["source"]).encode())}
        for order, cell in enumerate(book["cells"])
        if about(cell)
    ]
    return {"cells": cells, **book["metadata"]["labkit"]}


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _released(folder: Path) -> list[str]:
    """The notebooks that the last release wrote here, as its manifest says; nothing else is ever removed."""
    names = json.loads(_read(folder / MANIFEST) or b"{}")
    return [name for name in names if (folder / name).is_file()]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def command(masters: Path, out: Path | None = None, *, check: bool = False) -> int:
    """`labkit release`: write what changed and remove what lost its master; with `check` only say so and return 1."""
    target = out or masters.resolve().parent / RELEASE
    if target.resolve().is_relative_to(masters.resolve()) or masters.resolve().is_relative_to(target.resolve()):
        raise UsageError("the release must not lie in the folder of the masters, nor the other way round")
    files = release_all(masters)
    blocked = next((path for path in map(target.joinpath, files) if path.is_dir()), None)
    if blocked is not None:
        raise UsageError(f"{blocked} is a folder: move it away")
    changed = [name for name, data in files.items() if _read(target / name) != data]
    lost = sorted(set(_released(target)) - set(files))
    if not changed + lost:
        print(f"{target}: nothing to change")
    for name in changed + lost:
        if not check:
            write(target / name, files[name]) if name in files else (target / name).unlink()
        print(f"{'would change' if check else 'written' if name in files else 'removed'}: {target / name}")
    return 1 if check and changed + lost else 0
