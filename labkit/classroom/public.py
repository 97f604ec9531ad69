"""The public pass: rebuilt notebooks from top to bottom, as a learner runs them, each cell with its state.

Every cell has one, whatever the notebooks do to their kernels, to each other and to whoever runs them: it begins as `error` and is filled in by
what nbval, guarded, reported. In the box are the kernels alone, in a folder that holds nothing but what they make. A notebook whose kernel
hides errors is `tampered`, all of it.

Not handled here: points, which this pass does not give (see `hidden`), reading what was handed in (see `splice`), and systems without fork.
"""

from __future__ import annotations

import ast
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labkit.checks import registry
from labkit.classroom import kernel_parent
from labkit.classroom.lifeline import Lifeline
from labkit.classroom.nbval_run import (
    BLOCKED,
    CANARY,
    ERROR,
    NOT_RUN,
    PASSED,
    TAMPERED,
    Plan,
    inside,
    report,
    run_nbval,
)
from labkit.classroom.notebook import Cell, Notebook, about, dump, lines
from labkit.errors import UsageError
from labkit.faults.folder import own_folder
from labkit.faults.nursery import CAN_FORK
from labkit.ids import random_ids

_new_secret = random_ids()


@dataclass(frozen=True)
class PublicCell:
    """What became of one code cell: passed, failed, error, timeout, blocked or tampered. `message` is one line."""

    id: str
    state: str = ERROR
    message: str = NOT_RUN


def run_public(
    books: Mapping[str, Notebook],
    folder: Path,
    *,
    timeout: float = 30,
    wrap: Callable[[list[str]], list[str]] = list,
    environment: Mapping[str, str] | None = None,
    sent: Callable[[Mapping[str, str]], AbstractContextManager[socket.socket | None]] = lambda environment: nullcontext(),
    lifeline: Lifeline | None = None,
) -> dict[str, list[PublicCell]]:
    """Run notebooks, each in a kernel of its own below `folder`; `wrap` puts the command that starts the kernels into a box, `sent` has one sent there.

    All of it ends as soon as the `lifeline` is cut, or this process is gone. `timeout` is in seconds for each cell. Raises `UsageError` where nothing can
    be run at all.
    """
    if not CAN_FORK:
        raise UsageError("the notebooks' kernels need a system with fork (Linux or macOS)")
    if find_spec("nbval") is None:
        raise UsageError("nbval is not installed; in the checkout: python -m pip install '.[grade]'")
    cells = {name: _code(book) for name, book in books.items()}
    stems = {name: str(number) for number, name in enumerate(books)}
    preload = {stems[name]: sorted({_preload(about(cell).get("id")) for cell in cells[name]}) for name in books}
    command = [sys.executable, "-P", kernel_parent.__file__, *sorted({""}.union(*preload.values()) - {""})]
    own = inside(folder, environment)
    with own_folder() as place, sent(own) as wire, nullcontext(lifeline) if lifeline else Lifeline() as line:
        for name, book in books.items():
            (place / f"{stems[name]}.ipynb").write_bytes(dump(_with_canary(book)))
        plan = Plan(wrap(command), own, folder, preload, line, wire)
        why = run_nbval(place, plan, timeout, sum(map(len, cells.values())))
        heard = report(place)
    return {name: _settled(found, stems[name], heard, why) for name, found in cells.items()}


def without_judged(book: Notebook, judged: Collection[str]) -> Notebook:
    """The notebook without those of its own cells that do nothing but check an answer which was judged already.

    They would cost as much as the judging, say the same, and raise nothing whatever they say.
    """
    return {**book, "cells": [cell for cell in book["cells"] if not _only_checks(cell, judged)]}


def _only_checks(cell: Cell, judged: Collection[str]) -> bool:
    if cell["cell_type"] != "code" or about(cell).get("role") != "check":
        return False
    with suppress(SyntaxError):
        match ast.parse("".join(cell["source"])).body:
            case [ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(exercise))], []))]:
                return exercise in judged
    return False


def _code(book: Notebook) -> list[Cell]:
    """The cells that are run."""
    return [cell for cell in book["cells"] if cell["cell_type"] == "code" and about(cell).get("role") != CANARY]


def _with_canary(book: Notebook) -> Notebook:
    """The notebook's code as nbval runs it: without outputs to compare with, and at its end a cell that must raise a secret of this run."""
    secret = _new_secret()
    # subtle: an assertion looks no name up, so no name that a learner gives to something of his can change it
    canary = {
        "id": CANARY,
        "source": lines(f"assert False, {secret!r}"),
        "metadata": {"labkit": {"role": CANARY, "secret": secret}},
    }
    cells = [*_code(book), canary]
    run = [
        {**cell, "cell_type": "code", "outputs": [], "execution_count": None, "id": f"cell-{number}"}
        for number, cell in enumerate(cells)
    ]
    return {"cells": run, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _preload(id: Any) -> str:
    return registry.find(id).preload if id in registry.ids() else ""


def _settled(cells: Sequence[Cell], stem: str, heard: Mapping[str, tuple[str, str]], why: str) -> list[PublicCell]:
    """Every cell of a notebook, with what was heard of it and of the canary."""
    states = [heard.get(f"{stem} {number}", (ERROR, why or NOT_RUN)) for number in range(len(cells))]
    canary, said = heard.get(f"{stem} {len(cells)}", (ERROR, why or NOT_RUN))
    if canary == TAMPERED:
        states = [(TAMPERED, said)] * len(cells)
    elif states and canary not in (PASSED, BLOCKED):
        states[-1] = states[-1] if states[-1][0] != PASSED else (ERROR, f"after its last cell: {said}")
    return [PublicCell(name, *state) for name, state in zip(_ids(cells), states, strict=True)]


def _ids(cells: Sequence[Cell]) -> Iterator[str]:
    for number, cell in enumerate(cells, 1):
        yield str(about(cell).get("id") or cell.get("id") or number)
