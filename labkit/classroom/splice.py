"""A submission rebuilt from the master: only the learner's answers come in, everything else is what was handed out.

So a deleted, changed, doubled or shuffled cell costs nobody anything, and a changed check checks nothing. Cells that a learner added in front of an
answer come along, each in its place. `splice(release, [release])` is the release.

Not handled here: which cell is the answer (see `placing`), and running any of it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labkit.checks.cells import with_what_it_uses
from labkit.classroom import placing
from labkit.classroom.cleaning import anchors, clean, without_anchor
from labkit.classroom.notebook import Cell, Notebook, about, lines, text
from labkit.classroom.placing import ANSWERED, Found, Wanted
from labkit.classroom.submission import Flag, Submission
from labkit.errors import UsageError

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
        return Placed(asked.id, None, found.rule if found else "", state), "", []
    own, flags = clean(found.source, asked.id)
    before = [cell for cell in found.submission.cells[: found.cell.number - 1] if cell.kind == "code"]
    try:
        source = with_what_it_uses(own, [without_anchor(cell.source) for cell in before])
    except UsageError as error:
        source, flags = own, (*flags, Flag("not used", f"{asked.id}: {error}"))
    return Placed(asked.id, source, found.rule, ANSWERED, (*found.flags, *flags)), own, list(_extra(found, released))


def _extra(found: Found, released: Notebook) -> Iterator[str]:
    """The code cells in front of an answer that were not handed out and are no answers themselves."""
    handed_out = {_bare(text(cell["source"])) for cell in released["cells"]}
    own = [cell for cell in found.submission.cells[: found.cell.number - 1] if cell.kind == "code" and not cell.labkit]
    for cell in own[-MOST_EXTRA:]:
        source = without_anchor(cell.source)
        if source.strip() and _bare(cell.source) not in handed_out and not list(anchors(cell.source)):
            yield source


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
