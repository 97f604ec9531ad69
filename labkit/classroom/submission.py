"""What a learner handed in, read tolerantly and never executed.

Anything that has text in cells can be read: notebooks of format 2 to 4, whatever an editor or a website did to their metadata, and Python files (see
`exported`). What cannot be read says why in one line. Only ordinary files are opened, links are not followed, and nothing that is too large is read.

Not handled here: which cell is whose answer (see `placing`), and which file is whose (see `collect`).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit.checks.cells import joined
from labkit.checks.texts import printable
from labkit.classroom import encodings, exported
from labkit.errors import UsageError

MOST_BYTES = 5_000_000
MOST_CELLS = 2_000
MOST_CODE = 1_000_000  # characters in the code cells of one file
SUFFIXES = (".ipynb", ".py")
OTHERS = {b"PK\3\4": "an archive", b"%PDF": "a PDF", b"<": "a web page"}  # what is handed in for a notebook


class Unreadable(UsageError):
    """No cells can be found in this file; the message says why, in one line."""


@dataclass(frozen=True)
class Flag:
    """Something that a person should look at: a short word for the gradebook's column, and one line."""

    kind: str
    text: str


@dataclass(frozen=True)
class SubmittedCell:
    """One cell as it came back. `number` counts from 1; `id` is "" and `labkit` empty where they were lost."""

    number: int
    kind: str  # code, markdown or raw
    source: str
    id: str = ""
    labkit: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """One file of a learner. `version` is the digest of the release that it came from, "" where it does not say."""

    name: str
    cells: tuple[SubmittedCell, ...]
    version: str = ""
    assignment: str = ""
    flags: tuple[Flag, ...] = ()
    python: str = ""  # the version that a notebook was run with, "" where it does not say


def read(path: Path) -> Submission:
    """What a learner's file holds; nothing in it is ever run. Raises `Unreadable`."""
    if path.suffix.lower() not in SUFFIXES:
        raise Unreadable(f"not read: {shown(path)}: hand in notebooks (.ipynb) or Python files (.py)")
    data = _bytes(path)
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise Unreadable(f"{shown(path)} is empty")
    text, encoding = encodings.decoded(data, python=path.suffix.lower() == ".py")
    if text is None:
        raise Unreadable(f"{shown(path)} is {_other(data) or 'not text in UTF-8'}")
    flags = (Flag("encoding", f"{shown(path)} is text in {encoding}, not in UTF-8; it was read all the same"),) if encoding else ()
    if path.suffix.lower() != ".py":
        return replace(_notebook(path, text), flags=flags)
    if text.lstrip().startswith("{"):
        with suppress(Unreadable):
            book = _notebook(path, text)
            return replace(book, flags=(*flags, Flag("misnamed", f"{book.name} is a notebook, not a Python file; it was read as one")))
    if "\0" in text:
        raise Unreadable(f"{shown(path)} is not text in UTF-8")
    cells = exported.cells(_plain(text))
    found = tuple(SubmittedCell(number, "code", cell) for number, cell in enumerate(cells, 1))
    return _small(Submission(shown(path), found, flags=flags))


def _small(one: Submission) -> Submission:
    code = sum(len(cell.source) for cell in one.cells if cell.kind == "code")
    if code > MOST_CODE:
        raise Unreadable(f"{one.name} has {code:,} characters of code, more than the {MOST_CODE:,} that are read")
    return one


def _other(data: bytes) -> str:
    """What this is, where it is something else that one knows by its first bytes."""
    return next((f"{kind}, not a notebook" for begin, kind in OTHERS.items() if data.lstrip().startswith(begin)), "")


def shown(path: Path) -> str:
    """A file's name as one line."""
    return printable(path.name).replace("\n", "\\n").replace("\t", "\\t")


def _bytes(path: Path) -> bytes:
    """The bytes of an ordinary file that is not too large."""
    try:
        kind = path.lstat()
        if not stat.S_ISREG(kind.st_mode):
            raise Unreadable(f"{shown(path)} is no ordinary file")
        if kind.st_size > MOST_BYTES:
            raise Unreadable(f"{shown(path)} has {kind.st_size:,} bytes, more than the {MOST_BYTES:,} that are read: clear its outputs")
        # subtle: it may have become a link or a pipe since we looked
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
            return file.read(MOST_BYTES)
    except OSError as error:
        raise Unreadable(f"{shown(path)} cannot be read: {error.strerror}") from None


def _notebook(path: Path, text: str) -> Submission:
    try:
        # subtle: a number of thousands of digits is no reason to refuse a notebook, but Python's own int would
        book = json.loads(text, strict=False, parse_int=float)
    except (ValueError, RecursionError):
        raise Unreadable(f"{shown(path)} is {_other(text[:100].encode(errors='replace')) or 'not a notebook: it is no JSON'}") from None
    found = list(_raw_cells(book))
    if not found:
        raise Unreadable(f"{shown(path)} is not a notebook: it has no cells")
    if len(found) > MOST_CELLS:
        raise Unreadable(f"{shown(path)} has {len(found)} cells, more than the {MOST_CELLS} that are read")
    metadata = _dictionary(book.get("metadata"))
    about, python = _dictionary(metadata.get("labkit")), _text(_dictionary(metadata.get("language_info")).get("version"))
    cells = tuple(_cell(number, cell) for number, cell in enumerate(found, 1))
    return _small(Submission(shown(path), cells, _text(about.get("digest")), _text(about.get("assignment")), python=python))


def _raw_cells(book: Any) -> Iterator[dict[str, Any]]:
    """The cells of format 4, or of format 3, which has them in worksheets."""
    book = _dictionary(book)
    sheets = book.get("worksheets")
    lists = [book.get("cells")] + [_dictionary(sheet).get("cells") for sheet in (sheets if isinstance(sheets, list) else [])]
    for cells in lists:
        yield from (cell for cell in (cells if isinstance(cells, list) else []) if isinstance(cell, dict))


def _cell(number: int, cell: dict[str, Any]) -> SubmittedCell:
    """`cell` may lack anything; what has another type than the format wants counts as absent."""
    source = cell.get("source", cell.get("input"))  # the second is format 3's word for it
    if isinstance(source, list):
        source = joined([line for line in source if isinstance(line, str)])
    kind = cell.get("cell_type", "code" if "outputs" in cell else "raw")
    kind = kind if kind in ("code", "markdown", "raw") else "raw"
    metadata = _dictionary(cell.get("metadata"))
    tags = metadata.get("tags")
    tags = tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
    name = _text(cell.get("id")) or _text(metadata.get("id"))  # Colab keeps it there
    return SubmittedCell(number, str(kind), _plain(_text(source)), name, _dictionary(metadata.get("labkit")), tags)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
