"""An answer that was cut into several cells, put together again.

A cut in the middle of a function leaves a cell that stops short and one that begins indented: they belong together. A cut between functions leaves
cells that are Python each: those that define what the first one lacks are put behind or in front of it, in the notebook's order.

Not handled here: which cell is looked at first, and which cells may be used at all (see `placing`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from labkit.checks.answer import is_stub
from labkit.checks.cells import parse, without_magics
from labkit.classroom.submission import SubmittedCell

Cells = tuple[SubmittedCell, ...]
MOST_JOINED = 12  # cells into which an answer may have been cut


def text_of(cells: Iterable[SubmittedCell]) -> str:
    """Cells as one text; around a code block in a text cell the fence goes."""
    return "\n".join(_plain(cell) for cell in cells)


def _plain(cell: SubmittedCell) -> str:
    if cell.kind == "code":
        return cell.source
    return "\n".join("" if line.lstrip().startswith("```") else line for line in cell.source.split("\n"))


@dataclass(frozen=True)
class Outline:
    """What a text is as Python: whether it is any, the names that it defines at its top with the number of their parameters (-1 for a class, -2 for
    any number), and those of them that are still stubs."""

    python: bool = False
    names: Mapping[str, int] = field(default_factory=dict)
    stubs: frozenset[str] = frozenset()


@lru_cache(maxsize=2_000)  # a text is asked about once for each rule, and parsing is what takes long
def outline(source: str) -> Outline:
    tree = parse(without_magics(source))
    if tree is None:
        return Outline()
    names = dict(_defined(tree))
    return Outline(True, names, frozenset(name for name in names if is_stub(tree, name)))


def _defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            yield node.name, -2 if given.vararg or given.kwarg else len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
        elif isinstance(node, ast.ClassDef):
            yield node.name, -1
        elif isinstance(node, ast.Assign):
            yield from ((target.id, -2) for target in node.targets if isinstance(target, ast.Name))


def is_python(source: str) -> bool:
    return outline(source).python


def lacks(source: str, name: str) -> bool:
    """Whether a source does not define a name at its top, or only as the stub."""
    found = outline(source)
    return name not in found.names or name in found.stubs


def grown(cell: SubmittedCell, behind: Sequence[SubmittedCell]) -> Cells:
    """A cell with those directly behind it that go on where it stops, as many as make Python of it; the cell alone where none do."""
    cells: Cells = (cell,)
    best = cells
    for other in behind[:MOST_JOINED]:
        if is_python(text_of(cells)) and not _goes_on(other.source):
            break
        cells = (*cells, other)
        if is_python(text_of(cells)):
            best = cells
    return best


def _goes_on(source: str) -> bool:
    """Whether a cell begins in the middle of something."""
    code = [line for line in source.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    return bool(code) and code[0][0] in " \t" and not is_python(source)


def completed(cells: Cells, others: Sequence[SubmittedCell], names: Iterable[str]) -> Cells:
    """These cells with, for each name that they lack, the last of the others that defines it; as they are where a name is nowhere."""
    found = {cell.number: cell for cell in cells}
    for name in names:
        if lacks(text_of(cells), name):
            there = [other for other in others if not lacks(other.source, name)]
            if not there:
                return cells
            found[there[-1].number] = there[-1]
    return tuple(found[number] for number in sorted(found))
