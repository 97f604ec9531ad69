"""Which cell of what came back is the answer to an exercise.

Five ways, each tried only when those before it find no changed answer: what the cell's metadata says, the line `# labkit: <id>`, the cell's id, the
last cell that defines the names with the right parameters, and the place in the notebook. Of several the last changed one counts that is Python. The
way that found it is told, since the later ones are guesses.

Not handled here: what is done with the answer (see `splice`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.checks.answer import is_stub
from labkit.checks.cells import parse, without_magics
from labkit.classroom.cleaning import anchors, clean
from labkit.classroom.notebook import Cell, Notebook, about, text
from labkit.classroom.submission import Flag, Submission, SubmittedCell

ANSWERED, UNTOUCHED, MISSING = "answered", "untouched", "missing"
MOST_JOINED = 6  # cells into which an answer may have been split


@dataclass(frozen=True)
class Wanted:
    """An exercise as the released notebook asks for it: its cell, where that stands, and the names with the number of their parameters."""

    id: str
    cell: Cell
    place: int
    names: Mapping[str, int]

    @property
    def stub(self) -> str:
        return text(self.cell["source"])


@dataclass(frozen=True)
class Found:
    """A cell that may be the answer. `joined` are the cells after it that belong to it as well."""

    submission: Submission
    cell: SubmittedCell
    rule: str
    source: str
    flags: tuple[Flag, ...] = ()


def wanted(book: Notebook) -> Iterator[Wanted]:
    """The exercises of a released notebook."""
    for place, cell in enumerate(book["cells"]):
        if about(cell).get("role") == "solution":
            yield Wanted(str(about(cell)["id"]), cell, place, parameters(text(cell["source"])))


def parameters(source: str) -> dict[str, int]:
    """The functions and classes that a source defines at its top, with the number of their parameters (-1 for a class)."""
    found = {}
    tree = parse(without_magics(source))
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            found[node.name] = -2 if given.vararg or given.kwarg else len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = -1
        elif isinstance(node, ast.Assign):
            found |= {target.id: -2 for target in node.targets if isinstance(target, ast.Name)}
    return found


def find(asked: Wanted, book: Notebook, submissions: Sequence[Submission]) -> tuple[str, Found | None]:
    """(state, the answer). A changed answer by any rule comes before an unchanged one; without either the state is missing."""
    untouched: Found | None = None
    for rule, fits in _rules(asked, book).items():
        found = [Found(one, cell, rule, cell.source) for one in submissions for cell in one.cells if fits(one, cell)]
        changed = [candidate for candidate in found if _changed(candidate.source, asked)]
        if changed:
            return ANSWERED, _chosen(changed, asked, rule)
        untouched = untouched or (found[-1] if found else None)
    return (UNTOUCHED, untouched) if untouched else (MISSING, None)


def _rules(asked: Wanted, book: Notebook) -> dict[str, Callable[[Submission, SubmittedCell], bool]]:
    """The five rules in their order: rule -> does this cell fit."""
    own = {str(about(cell)["id"]) for cell in book["cells"] if about(cell)}
    count, name = len(book["cells"]), str(about(book).get("assignment", ""))

    def mine(one: Submission) -> bool:
        """Whether a file may be this notebook: it is called so, says so, or speaks of no other exercise."""
        spoken = {spoken for cell in one.cells for spoken in (*anchors(cell.source), str(cell.labkit.get("id", "")))} - {""}
        return belongs(one, asked.id, name) or bool(spoken & own) or not spoken

    def free(cell: SubmittedCell) -> bool:
        return not [other for other in anchors(cell.source) if other != asked.id] and cell.labkit.get("id") in (None, "", asked.id)

    def names(cell: SubmittedCell) -> bool:
        there = parameters(cell.source) if cell.kind == "code" else {}
        return bool(asked.names) and all(there.get(wanted) in (given, -2) for wanted, given in asked.names.items())

    return {
        "metadata": lambda one, cell: cell.labkit.get("id") == asked.id and cell.labkit.get("role", "solution") == "solution" and not _another(cell, asked.id),
        "anchor": lambda one, cell: asked.id in anchors(cell.source),
        "cell id": lambda one, cell: cell.id == asked.cell["id"] and cell.kind == "code" and belongs(one, asked.id, name) and free(cell),
        "name": lambda one, cell: mine(one) and free(cell) and names(cell),
        "file name": lambda one, cell: one.name.lower().endswith(".py") and len(one.cells) == 1 and belongs(one, asked.id, name),
        "position": lambda one, cell: (
            len(one.cells) == count and cell.number == asked.place + 1 and cell.kind == "code" and belongs(one, asked.id, name) and free(cell)
        ),
    }  # fmt: skip


def _another(cell: SubmittedCell, exercise: str) -> bool:
    """Whether a cell's visible line says another exercise than its metadata: the one that can be seen counts."""
    seen = set(anchors(cell.source))
    return bool(seen) and exercise not in seen


def belongs(one: Submission, exercise: str, assignment: str) -> bool:
    """Whether a file is called, or calls itself, after the exercise."""
    stem = Path(one.name).stem.rpartition("__")[2].split("(")[0].strip().lower()
    return stem in (exercise.lower(), assignment.lower()) or one.assignment == assignment != ""


def _changed(source: str, asked: Wanted) -> bool:
    """Whether there is more than the stub; spaces at the ends of lines and empty lines are no answer, nor is a stub in another wording."""
    own = clean(source, asked.id)[0]
    if _bare(own) == _bare(clean(asked.stub, asked.id)[0]) or len(_bare(own)) < 2:
        return False
    tree = parse(own)
    return tree is None or not asked.names or not all(is_stub(tree, name) for name in asked.names)


def _bare(source: str) -> list[str]:
    return [line.rstrip() for line in source.split("\n") if line.strip()]


def _chosen(changed: list[Found], asked: Wanted, rule: str) -> Found:
    """The last that is Python and whole, else the last that becomes it together with the cells behind it, else the last."""
    flags = (Flag("copied", f"{asked.id}: {len(changed)} cells hold an answer; the last one was taken"),) if len(changed) > 1 else ()
    for one in reversed(changed):
        if _whole(one.source, asked):
            return _with(one, one.source, flags)
    for one in reversed(changed):
        joined = _joined(one, asked)
        if joined:
            return _with(one, joined, (*flags, Flag("split", f"{asked.id}: the answer was split over several cells, which were joined")))
    parsing = [one for one in changed if parse(without_magics(one.source)) is not None]
    last = (parsing or changed)[-1]
    return _with(last, last.source, flags)


def _with(one: Found, source: str, flags: tuple[Flag, ...]) -> Found:
    if one.cell.kind != "code":
        flags = (*flags, Flag("not code", f"{one.submission.name}: a {one.cell.kind} cell holds the answer; it was taken as code"))
    return Found(one.submission, one.cell, one.rule, source, flags)


def _whole(source: str, asked: Wanted) -> bool:
    return set(asked.names) <= set(parameters(source))


def _joined(one: Found, asked: Wanted) -> str:
    """The cell with those behind it, as few as make it whole; "" when none do."""
    parts = [one.source]
    for cell in one.submission.cells[one.cell.number : one.cell.number + MOST_JOINED]:
        if cell.kind != "code" or cell.labkit or set(anchors(cell.source)) - {asked.id}:
            break
        parts.append(cell.source)
        if _whole("\n".join(parts), asked):
            return "\n".join(parts)
    return ""
