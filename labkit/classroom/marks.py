"""Where the answer stands in a master's cell, and the cell without it.

Two marks: a region between `### BEGIN SOLUTION` and `### END SOLUTION`, each alone on its line, and a trailing `# SOLUTION` on a line that is one
whole statement. A region becomes one `...` at its indent; a marked assignment keeps its left side, any other marked line becomes `...`. A mark
that is nested, unclosed, misspelt or misplaced is an error that names cell and line: nothing is guessed, since a wrong guess hands out an answer.

Not handled here: which cells may hold marks (see `release`).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from labkit.errors import UsageError

BEGIN, END, TRAILING = "### BEGIN SOLUTION", "### END SOLUTION", "# SOLUTION"
STUB = "..."

_NEARLY_A_REGION = re.compile(r"#+\s*(BEGIN|END)\s*SOLUTION", re.IGNORECASE)
_NEARLY_TRAILING = re.compile(r"#+\s*SOLUTION\b\W*$", re.IGNORECASE)


class MarkError(UsageError):
    """A solution mark is nested, unclosed, misspelt or misplaced."""


@dataclass(frozen=True)
class Stripped:
    """A cell without its answer: `source` is handed out, `answer` holds the lines that were taken away."""

    source: str
    answer: tuple[str, ...]


def strip(source: str, cell: str) -> Stripped:
    """Take the answer out of one cell's source; `cell` is its name in errors."""
    given: list[str] = []
    answer: list[str] = []
    opened: int | None = None
    for number, line in enumerate(source.split("\n"), 1):
        mark = _mark(line, f"{cell}, line {number}")
        if mark == BEGIN:
            if opened is not None:
                raise MarkError(f"{cell}, line {number}: a region begins inside the one of line {opened}")
            opened = number
            given.append(_indent(line) + STUB)
        elif mark == END:
            if opened is None:
                raise MarkError(f"{cell}, line {number}: a region ends that never began")
            opened = None
        elif mark == TRAILING:
            if opened is not None:
                raise MarkError(f"{cell}, line {number}: `{TRAILING}` inside the region of line {opened}")
            given.append(_left_side(line, f"{cell}, line {number}") + STUB)
            answer.append(line)
        else:
            (given if opened is None else answer).append(line)
    if opened is not None:
        raise MarkError(f"{cell}, line {opened}: the region is never closed")
    return Stripped("\n".join(given), tuple(answer))


def marked(source: str, cell: str, *, code: bool = True) -> bool:
    """Does this cell hold marks at all? In code a misspelt one is an error here too; a heading may say "# Solution"."""
    if not code:
        return any(line.strip() in (BEGIN, END) for line in source.split("\n"))
    return any(_mark(line, f"{cell}, line {number}") for number, line in enumerate(source.split("\n"), 1))


def _mark(line: str, place: str) -> str | None:
    """The mark on this line, if any."""
    text = line.strip()
    if text in (BEGIN, END):
        return text
    if _NEARLY_A_REGION.search(text):
        raise MarkError(f"{place}: a mark must stand alone on its line and read `{BEGIN}` or `{END}`")
    if text.endswith(TRAILING) and not text.endswith("#" + TRAILING):
        return TRAILING
    if _NEARLY_TRAILING.search(text):
        raise MarkError(f"{place}: a mark at the end of a line must read `{TRAILING}`")
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _left_side(line: str, place: str) -> str:
    """What stays of a line with a trailing mark: its indent, and the left side of an assignment."""
    indent, code = _indent(line), line.strip()
    try:
        statements = ast.parse(code).body
    except SyntaxError:
        statements = []
    if len(statements) != 1 or statements[0].end_lineno != 1:
        raise MarkError(f"{place}: `{TRAILING}` must follow one whole statement; use a region for more")
    value = getattr(statements[0], "value", None)
    if isinstance(statements[0], ast.Assign | ast.AnnAssign | ast.AugAssign) and isinstance(value, ast.expr):
        return indent + code.encode()[: value.col_offset].decode().rstrip("( ") + " "
    return indent
