"""One form for every stored notebook, so that a diff shows what an author changed and nothing else.

Normalising twice is normalising once. Ids are unique and stay what they are; a missing or doubled one is made from the cell's content. Execution
counts run 1..n over the cells that were run, and outputs are kept; timing, widget state, the machine's Python version and what editors
leave behind are dropped. Format 4.5, kernelspec python3, sorted keys, a newline at the end.

Not handled here: outputs that differ from run to run by themselves (seconds, addresses). A lesson must not print them.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labkit.classroom.notebook import Cell, Notebook, about, dump, find, lines, load, text, write
from labkit.errors import UsageError

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
BOOK_KEYS = ("authors", "labkit", "title")
CELL_KEYS = ("deletable", "editable", "jupyter", "labkit", "name", "slideshow", "tags")
WIDGET = "application/vnd.jupyter.widget-view+json"

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SPLIT = ("application/javascript", "image/svg+xml")  # besides text/*: what the format stores as lines


def normalise(book: Notebook) -> Notebook:
    """The normal form of a notebook, as a new one; the old one is unchanged."""
    cells = [_cell(cell) for cell in book["cells"]]
    for cell, name in zip(cells, _ids(book["cells"]), strict=True):
        cell["id"] = name
    _number(cells)
    metadata: dict[str, Any] = _chosen(book.get("metadata", {}), BOOK_KEYS)
    metadata |= {"kernelspec": dict(KERNELSPEC), "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(cell: Cell) -> Cell:
    metadata = _chosen(cell.get("metadata", {}), CELL_KEYS)
    new: Cell = {"cell_type": cell["cell_type"], "metadata": metadata, "source": lines(text(cell["source"]))}
    if cell["cell_type"] == "code":
        outputs = _joined([_output(output) for output in cell.get("outputs", [])])
        new |= {"execution_count": cell.get("execution_count"), "outputs": outputs}
    elif cell.get("attachments"):
        new["attachments"] = cell["attachments"]
    return new


def _chosen(metadata: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The metadata that an author wrote; empty values go too."""
    return {key: metadata[key] for key in keys if metadata.get(key) not in (None, [], {}, "")}


def _output(output: dict[str, Any]) -> dict[str, Any]:
    new = {key: value for key, value in output.items() if key != "transient"}
    if "data" in new:
        new["data"] = {mime: _lines_of(mime, value) for mime, value in new["data"].items() if mime != WIDGET}
        new["metadata"] = {mime: value for mime, value in new.get("metadata", {}).items() if mime != WIDGET}
    if "text" in new:
        new["text"] = lines(text(new["text"]))
    return new


def _lines_of(mime: str, value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if mime.startswith("text/") or mime in _SPLIT:
        return lines(text(value))
    is_json = mime.endswith("json")
    return value if is_json else "".join(value)


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring pieces of one stream as one: how a stream is cut depends on the machine's speed."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.get("output_type") == "stream" == last.get("output_type") and output["name"] == last["name"]:
            last["text"] = lines(text(last["text"]) + text(output["text"]))
        else:
            joined.append(output)
    return joined


def _ids(cells: list[Cell]) -> list[str]:
    """A name for each cell: its own where that is valid and the first of its kind, else one made from its content."""
    own = [_valid(cell.get("id")) for cell in cells]
    kept = [None if name in own[:place] else name for place, name in enumerate(own)]
    taken = {name for name in kept if name is not None}
    names = []
    for cell, name in zip(cells, kept, strict=True):
        names.append(name or _made(cell, taken))
        taken.add(names[-1])
    return names


def _valid(name: Any) -> str | None:
    return name if isinstance(name, str) and _ID.fullmatch(name) else None


def _made(cell: Cell, taken: set[str]) -> str:
    content = f"{cell['cell_type']}\n{text(cell['source'])}".encode(errors="surrogatepass")
    base = _valid(about(cell).get("id")) or hashlib.sha256(content).hexdigest()[:8]
    number, name = 1, base
    while name in taken:
        number += 1
        name = f"{base[:56]}-{number}"
    return name


def _number(cells: list[Cell]) -> None:
    """Count the code cells that were run; the others keep no number."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    ran = [cell for cell in code if cell["execution_count"] is not None or cell["outputs"]]
    for count, cell in enumerate(ran, 1):
        cell["execution_count"] = count
        for output in cell["outputs"]:
            if output.get("output_type") == "execute_result":
                output["execution_count"] = count


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m labkit.classroom.normalise [--check] FILES`: 0 done or nothing to do, 1 `--check` found some, 2 unusable input."""
    parser = argparse.ArgumentParser(prog="python -m labkit.classroom.normalise", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something would change")
    parser.add_argument("places", nargs="+", type=Path, metavar="FILE", help="a notebook, or a folder of them")
    arguments = parser.parse_args(argv)
    try:
        normal = {path: dump(normalise(load(path))) for path in find(arguments.places)}
        changed = {path: data for path, data in normal.items() if data != path.read_bytes()}
    except (UsageError, OSError) as error:
        print(f"normalise: {error}", file=sys.stderr)
        return 2
    for path, data in changed.items():
        print(f"{'not normal' if arguments.check else 'normalised'}: {path}")
        if not arguments.check:
            write(path, data)
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
