"""Which cell of what came back is the answer to an exercise.

Six ways: what the cell's metadata says and the line `# labkit: <id>`, which are as good as each other, and then, each tried only when those before it
find no whole answer, the cell's id, the last cell that defines the names with the right parameters, a Python file's name, and the place between the cells
that were handed out. Of several the last changed one counts that is Python, and others are told. The way that found it is told, since the later ones are
guesses.

Not handled here: an answer in several cells (see `joining`), and what is done with it (see `splice`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from labkit.checks.answer import is_stub
from labkit.checks.cells import parse
from labkit.classroom.cleaning import anchors, clean
from labkit.classroom.collect import called
from labkit.classroom.joining import Cells, completed, grown, is_python, lacks, outline, text_of
from labkit.classroom.notebook import Cell, Notebook, about, text
from labkit.classroom.submission import Flag, Submission, SubmittedCell

ANSWERED, UNTOUCHED, MISSING = "answered", "untouched", "missing"
VISIBLE = ("metadata", "anchor")  # the rules by which a cell says itself what it is
MOST_TRIED = 40  # cells that claim to be one answer: of more, the last
T = TypeVar("T")
Fits = Callable[[Submission, SubmittedCell], bool]


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
    """Cells of one file that are, together and in this order, the answer; nearly always one."""

    submission: Submission
    cells: Cells
    rule: str
    flags: tuple[Flag, ...] = ()
    others: frozenset[str] = frozenset()  # the names of the files that hold an answer too

    @property
    def source(self) -> str:
        return text_of(self.cells)

    @property
    def behind(self) -> list[SubmittedCell]:
        """The code cells behind the last of them."""
        return [one for one in self.submission.cells[self.cells[-1].number :] if one.kind == "code"]

    @property
    def before(self) -> list[SubmittedCell]:
        """The code cells in front of the last of them that are none of them."""
        return [one for one in self.submission.cells[: self.cells[-1].number - 1] if one.kind == "code" and one not in self.cells]


def wanted(book: Notebook) -> Iterator[Wanted]:
    """The exercises of a released notebook."""
    for place, cell in enumerate(book["cells"]):
        if about(cell).get("role") == "solution":
            yield Wanted(str(about(cell)["id"]), cell, place, outline(text(cell["source"])).names)


def find(asked: Wanted, book: Notebook, submissions: Sequence[Submission]) -> tuple[str, Found | None]:
    """(state, the answer). A whole answer by any rule comes before half of one, that before an unchanged one; without any the state is missing."""
    untouched: Found | None = None
    half: Found | None = None
    free = _free(asked, book)
    rules = _rules(asked, book, free)
    for names in (VISIBLE, *((name,) for name in rules if name not in VISIBLE)):
        found = _found({name: rules[name] for name in names}, submissions)
        changed = [_grown(one, free) for one in _last_changed(found, asked)]
        if changed:
            best = _completed(_chosen(changed, asked), free, asked)
            if _whole(best, asked):
                return ANSWERED, _told(best, _found(rules, submissions), asked, free)
            half = half or best
        # subtle: what merely stands where the answer should is no stub: it may be another exercise's check
        untouched = untouched or (found[-1] if found and found[-1].rule != "position" else None)
    if half:
        return ANSWERED, _told(half, _found(rules, submissions), asked, free)
    return (UNTOUCHED, untouched) if untouched else (MISSING, None)


def _found(rules: Mapping[str, Fits], submissions: Sequence[Submission]) -> list[Found]:
    """The cells that are meant by one of these rules, in the order of the files, each with the first rule that means it."""
    meant = ((one, cell, next((name for name, fits in rules.items() if fits(one, cell)), "")) for one in submissions for cell in one.cells)
    return [Found(one, (cell,), rule) for one, cell, rule in meant if rule]


def _last_changed(found: Sequence[Found], asked: Wanted) -> list[Found]:
    return [one for one in found if _changed(one.source, asked)][-MOST_TRIED:]


def _rules(asked: Wanted, book: Notebook, free: Fits) -> dict[str, Fits]:
    """The six rules in their order: rule -> does this cell fit."""
    own = {str(about(cell)["id"]) for cell in book["cells"] if about(cell)}
    name = str(about(book).get("assignment", ""))

    @_once
    def mine(one: Submission) -> bool:
        """Whether a file may be this notebook: it is called so, says so, or speaks of no other exercise."""
        spoken = {spoken for cell in one.cells for spoken in (*anchors(cell.source), str(cell.labkit.get("id", "")))} - {""}
        return belongs(one, asked.id, name) or bool(spoken & own) or not spoken

    @_once
    def between(one: Submission) -> range:
        """The numbers of the cells where the answer's cell stood: between what was handed out directly in front of it and behind it."""
        sources = [_words(text(given["source"])) for given in book["cells"]]
        there = {_words(other.source): other.number for other in one.cells}
        front = next((there[source] for source in reversed(sources[: asked.place]) if source in there), None)
        behind = next((there[source] for source in sources[asked.place + 1 :] if source in there), None)
        return range(0) if front is None or behind is None else range(front + 1, behind)

    def names(cell: SubmittedCell) -> bool:
        there = outline(cell.source).names
        return bool(asked.names) and all(there.get(wanted) in (given, -2) for wanted, given in asked.names.items())

    return {
        "metadata": lambda one, cell: cell.labkit.get("id") == asked.id and cell.labkit.get("role", "solution") == "solution" and not _another(cell, asked.id),
        "anchor": lambda one, cell: asked.id in anchors(cell.source),
        "cell id": lambda one, cell: cell.id == asked.cell["id"] and belongs(one, asked.id, name) and free(one, cell),
        "name": lambda one, cell: mine(one) and free(one, cell) and names(cell),
        "file name": lambda one, cell: one.name.lower().endswith(".py") and len(one.cells) == 1 and belongs(one, asked.id, name),
        "position": lambda one, cell: belongs(one, asked.id, name) and free(one, cell) and cell.number in between(one),
    }


def _free(asked: Wanted, book: Notebook) -> Fits:
    """Whether a cell may be the learner's own: code that was not handed out as it is and speaks of no other exercise."""
    given = {_words(text(cell["source"])) for number, cell in enumerate(book["cells"]) if number != asked.place}
    ours = {about(cell)["id"] for cell in book["cells"] if about(cell) and about(cell)["role"] != "solution"}

    def free(one: Submission, cell: SubmittedCell) -> bool:
        said = cell.labkit.get("id")
        speaks = any(other != asked.id for other in anchors(cell.source)) or not (said in (None, "", asked.id) or (isinstance(said, str) and said in ours))
        return cell.kind == "code" and not speaks and _words(cell.source) not in given

    return free


def _once(ask: Callable[[Submission], T]) -> Callable[[Submission], T]:
    """A question about a file, answered once for all its cells: else the time grows with their square."""
    known: dict[int, T] = {}

    def answer(one: Submission) -> T:
        if id(one) not in known:
            known[id(one)] = ask(one)
        return known[id(one)]

    return answer


def _words(source: str) -> str:
    """A text as which it counts when two are compared: however it is broken into lines."""
    return " ".join(source.split())


def _another(cell: SubmittedCell, exercise: str) -> bool:
    """Whether a cell's visible line says another exercise than its metadata: the one that can be seen counts."""
    seen = set(anchors(cell.source))
    return bool(seen) and exercise not in seen


def belongs(one: Submission, exercise: str, assignment: str) -> bool:
    """Whether a file is called, or calls itself, after the exercise."""
    return called(Path(one.name)) in (exercise.lower(), assignment.lower()) or one.assignment == assignment != ""


def _grown(one: Found, free: Fits) -> Found:
    """With the cells behind it that go on where it stops; a text cell or an empty one between them is no end, what was handed out is."""
    behind = []
    for cell in one.submission.cells[one.cells[-1].number :]:
        if free(one.submission, cell) and cell.source.strip():
            behind.append(cell)
        elif cell.kind == "code" and cell.source.strip():
            break
    return replace(one, cells=grown(one.cells[0], behind))


def _completed(one: Found, free: Fits, asked: Wanted) -> Found:
    """With the cells of the same file that define what is not there."""
    there = [cell for cell in one.submission.cells if free(one.submission, cell)]
    return replace(one, cells=completed(one.cells, there, asked.names))


def _changed(source: str, asked: Wanted) -> bool:
    """Whether there is more than the stub; comments and empty lines are no answer, nor is a stub in another wording."""
    own = clean(source, asked.id)[0]
    if own.split() == clean(asked.stub, asked.id)[0].split():
        return False
    tree = parse(own)
    return tree is None or (bool(tree.body) and (not asked.names or not all(is_stub(tree, name) for name in asked.names)))


def _whole(one: Found, asked: Wanted) -> bool:
    return not any(lacks(one.source, name) for name in asked.names)


def _speaks(one: Found, asked: Wanted) -> bool:
    """Whether what was found answers some of it, or may have been meant to: what is no Python must say so itself, or begin one of the names."""
    if is_python(one.source):
        return any(not lacks(one.source, name) for name in asked.names)
    return one.rule in VISIBLE or any(re.search(rf"(?m)^\s*(?:async\s+)?(?:def|class)\s+{name}\b", one.source) for name in asked.names)


def _chosen(changed: Sequence[Found], asked: Wanted) -> Found:
    """The last that is whole, else the last that is Python, else the last."""
    whole = [one for one in changed if _whole(one, asked)]
    python = [one for one in changed if is_python(one.source)]
    return (whole or python or changed)[-1]


def _told(best: Found, found: Sequence[Found], asked: Wanted, free: Fits) -> Found:
    """With flags for what a person may see otherwise."""
    flags, last = list[Flag](), best.cells[-1]
    changed = [_grown(one, free) for one in _last_changed(found, asked)]
    rivals = [one for one in changed if one.cells[0] not in best.cells and _speaks(one, asked)]
    different = {_words(one.source) for one in rivals} - {_words(best.source)}
    if different:
        taken = f"the one in cell {last.number} of {best.submission.name} was taken"
        flags.append(Flag("several answers", f"{asked.id}: {len(different) + 1} different answers; {taken}{_elsewhere(best, rivals)}"))
    if len(best.cells) > 1:
        flags.append(Flag("split", f"{asked.id}: the answer was split over {len(best.cells)} cells, which were joined"))
    if last.kind != "code":
        flags.append(Flag("not code", f"{best.submission.name}: a {last.kind} cell holds the answer; it was taken as code"))
    return replace(best, flags=tuple(flags), others=frozenset(one.submission.name for one in rivals))


def _elsewhere(best: Found, rivals: Sequence[Found]) -> str:
    """Where the others are, as the end of a sentence: files, or cells of the same file."""
    files = sorted({one.submission.name for one in rivals if one.submission is not best.submission})
    cells = sorted({one.cells[-1].number for one in rivals if one.submission is best.submission})
    places = [f"cell {number}" for number in cells] + files
    return f", not that in {', '.join(places[:5])}" if places else ""
