"""A submission rebuilt from the master: only the learner's answers come in, everything else is what was handed out.

So a deleted, changed, doubled or shuffled cell costs nobody anything, and a changed check checks nothing. Cells that a learner added in front of an
answer come along, each in its place. `splice(release, [release])` is the release.

Not handled here: which cell is the answer (see `placing`), and running any of it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labkit.checks.cells import OWN_CELL, with_what_it_uses
from labkit.classroom import placing
from labkit.classroom.cleaning import anchor_in, anchors, clean, without_checks
from labkit.classroom.joining import lacks
from labkit.classroom.notebook import Cell, Notebook, about, lines, text
from labkit.classroom.placing import ANSWERED, Found, Wanted
from labkit.classroom.submission import Flag, Submission, SubmittedCell
from labkit.errors import UsageError

OBEYED = ("nbval-", "raises-exception")  # how tags begin that tell nbval to look away
MOST_EXTRA = 50  # cells of the learner's own in front of an answer


@dataclass(frozen=True)
class Placed:
    """The answer to one exercise. `source` is what the check gets, None where there is none: the answer, and in front of it what it uses of the learner's other
    cells. `rule` says how it was found."""

    id: str
    source: str | None
    rule: str
    state: str
    flags: tuple[Flag, ...] = ()
    file: str = ""  # in which it was found, by name
    others: frozenset[str] = frozenset()  # files that hold an answer to it too


@dataclass(frozen=True)
class Spliced:
    """The released notebook with a learner's answers in it, each answer, and what concerns the files as a whole."""

    book: Notebook
    answers: dict[str, Placed]
    flags: tuple[Flag, ...] = ()


def splice(released: Notebook, submissions: Sequence[Submission]) -> Spliced:
    """Put the answers of one learner into a released notebook."""
    book, cells = copy.deepcopy(released), list[Cell]()
    answers: dict[str, Placed] = {}
    asked = {one.place: one for one in placing.wanted(released)}
    for place, cell in enumerate(book["cells"]):
        if place in asked:
            placed, own, extra = _place(asked[place], released, submissions)
            answers[placed.id] = placed
            cells += [_new(released, f"{placed.id}-own-{number}", source) for number, source in enumerate(extra, 1)]
            if own:
                cell["source"] = lines(own)
        cells.append(cell)
    book["cells"] = cells
    return Spliced(book, answers, tuple(_about(released, submissions, set(answers))))


def _place(asked: Wanted, released: Notebook, submissions: Sequence[Submission]) -> tuple[Placed, str, list[str]]:
    """(what was found, the text of the answer's cell, the learner's own cells in front of it)."""
    state, found = placing.find(asked, released, submissions)
    if state != ANSWERED or found is None:
        return Placed(asked.id, None, found.rule if found else "", state, file=found.submission.name if found else ""), "", []
    own, flags = clean(found.source, asked.id)
    flags = (*flags, *_marks(found, asked)) if "marks" not in [flag.kind for flag in flags] else flags
    setup = [text(cell["source"]) for cell in released["cells"][: asked.place] if cell["cell_type"] == "code" and about(cell).get("role") != "solution"]
    before, behind = ([_piece(cell, asked) for cell in cells] for cells in (found.before, found.behind))
    before = [*map(without_checks, setup), *before]
    try:
        source = with_what_it_uses(own, before, behind)
    except UsageError as error:
        source, flags = own, (*flags, Flag("not used", f"{asked.id}: {error}"))
    placed = Placed(asked.id, source, found.rule, ANSWERED, (*found.flags, *flags), found.submission.name, found.others)
    return placed, own, [*_extra(found, asked, released), *_from_below(source, own, before)]


def _piece(cell: SubmittedCell, asked: Wanted) -> str:
    """A cell in front of the answer. One with the anchor is a piece that was cut off, and may be used, unless it is another answer."""
    source = without_checks(cell.source)
    piece = all(lacks(source, name) for name in asked.names)
    return "\n".join("" if anchor_in(line) == asked.id else line for line in source.split("\n")) if piece else source


def _extra(found: Found, asked: Wanted, released: Notebook) -> Iterator[str]:
    """The learner's own code cells in front of an answer; of cells that were handed out, and of the stub, what the answer uses and nothing else."""
    handed_out = {_bare(text(cell["source"])) for number, cell in enumerate(released["cells"]) if number != asked.place}
    ours = [cell for cell in found.before if _bare(cell.source) not in handed_out and not set(anchors(cell.source)) - {asked.id}]
    changed = [cell for cell in ours if cell.labkit.get("id") not in (None, asked.id) or _bare(cell.source) == _bare(asked.stub)]
    used = _used(found.source, [_piece(cell, asked) for cell in changed])
    yield from [used] if used else []
    for cell in [cell for cell in ours if cell not in changed][-MOST_EXTRA:]:
        source = _piece(cell, asked)
        if source.strip() and not list(anchors(source)):
            yield source


def _from_below(source: str, own: str, before: list[str]) -> Iterator[str]:
    """What an answer takes from cells behind it, which a notebook that is run from top to bottom needs in front of it."""
    without = _used(own, before)
    whole = source.rpartition(f"\n{OWN_CELL}\n")[0]
    if whole != without:
        yield whole.removeprefix(without).strip("\n")


def _used(answer: str, cells: list[str]) -> str:
    """The statements of these cells that an answer uses."""
    try:
        return with_what_it_uses(answer, cells).rpartition(f"\n{OWN_CELL}\n")[0]
    except UsageError:
        return ""


def _marks(found: Found, asked: Wanted) -> Iterator[Flag]:
    """Tags on the answer's cell that were not handed out and that nbval would obey."""
    given = asked.cell["metadata"].get("tags", [])
    tags = sorted({tag for cell in found.cells for tag in cell.tags if tag not in given and tag.lower().startswith(OBEYED)})
    if tags:
        yield Flag("marks", f"{asked.id}: tags for nbval do not count: {', '.join(tags)}")


def _new(released: Notebook, name: str, source: str) -> Cell:
    taken = {cell["id"] for cell in released["cells"]}
    while name in taken:
        name += "x"
    return {"cell_type": "code", "id": name, "metadata": {}, "source": lines(source), "execution_count": None, "outputs": []}


def _about(released: Notebook, submissions: Sequence[Submission], exercises: set[str]) -> Iterator[Flag]:
    """What a person should know of the files themselves: another release, and handed-out cells that were changed."""
    own, assignment = about(released), str(about(released).get("assignment", ""))
    given = {about(cell)["id"]: _bare(text(cell["source"])) for cell in released["cells"] if about(cell)}
    for one in submissions:
        if one.assignment != assignment:
            continue
        if one.version and one.version != own.get("digest"):
            yield Flag("other version", f"{one.name}: made from another release of {assignment}; graded by its ids")
        for cell in one.cells:
            name = cell.labkit.get("id")
            if isinstance(name, str) and name in given and name not in exercises and _bare(cell.source) != given[name]:
                yield Flag("changed cell", f"{one.name}: the cell {name} was changed; what was handed out was run")


def _bare(source: str) -> str:
    return "\n".join(line.rstrip() for line in source.strip().split("\n"))
