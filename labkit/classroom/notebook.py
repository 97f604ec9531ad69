"""Notebooks as plain JSON: read with one clear error, written in one form, and never half.

A notebook is a dict, its text in lists of lines as the format wants on disk.

Not handled here: what the parts mean; and submissions, which need a more tolerant reader.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labkit.errors import UsageError

Notebook = dict[str, Any]
Cell = dict[str, Any]


def load(path: Path) -> Notebook:
    """Read one notebook of format 4; anything else is a `UsageError` that names the file."""
    try:
        book = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
        raise UsageError(f"{path} is no notebook: it has no cells")
    if not isinstance(book.get("metadata", {}), dict):
        raise UsageError(f"{path} is no notebook: its metadata is no object")
    if book.get("nbformat") != 4:
        raise UsageError(f"{path} has notebook format {book.get('nbformat')!r}; open it and save it anew for format 4")
    for number, cell in enumerate(book["cells"], 1):
        if not _is_cell(cell):
            raise UsageError(f"{path}: cell {number} is no cell of format 4")
    return book


def _is_cell(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        return False
    outputs = cell.get("outputs", [])
    known = isinstance(outputs, list) and all(isinstance(output, dict) and "output_type" in output for output in outputs)
    return known and _is_text(cell.get("source")) and isinstance(cell.get("metadata", {}), dict)


def _is_text(source: Any) -> bool:
    return isinstance(source, str) or (isinstance(source, list) and all(isinstance(line, str) for line in source))


def dump(book: Notebook) -> bytes:
    """The bytes of a notebook: sorted keys, one space of indent, a newline at the end."""
    # subtle: a lone surrogate has no UTF-8; "backslashreplace" spells it the way JSON does.
    return (json.dumps(book, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode(errors="backslashreplace")


def write(path: Path, data: bytes) -> None:
    """Put a file in place as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    os.replace(beside, path)


def text(source: str | Iterable[str]) -> str:
    """A multi-line string of the format as one string, with plain newlines."""
    joined = source if isinstance(source, str) else "".join(source)
    return joined.replace("\r\n", "\n").replace("\r", "\n")


def lines(source: str) -> list[str]:
    """The other way round."""
    return source.splitlines(keepends=True)


def about(cell: Cell) -> dict[str, Any]:
    """What `metadata.labkit` says of a cell; empty where it says nothing."""
    found = cell.get("metadata", {}).get("labkit", {})
    return found if isinstance(found, dict) else {}


def find(places: Iterable[Path]) -> list[Path]:
    """The notebooks among these files and below these folders, sorted; a place that is not there is a `UsageError`."""
    found: set[Path] = set()
    for place in places:
        if not place.exists():
            raise UsageError(f"{place} is not there")
        found |= set(place.rglob("*.ipynb")) if place.is_dir() else {place}
    return sorted(path for path in found if ".ipynb_checkpoints" not in path.parts)
