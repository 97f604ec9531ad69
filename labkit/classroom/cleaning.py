"""An answer's text without what a grader must not run or obey: magics, marks for nbval, and calls of the notebook's own checks.

Line for line: what goes leaves an empty line or `pass`, so that a message names the line that the learner sees. What went is told in flags.

Not handled here: what the answer does (see `suspicious`, `box`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from labkit.checks.cells import ANCHOR, parse, without_magics
from labkit.classroom.submission import Flag

NBVAL = re.compile(r"^\s*#\s*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)[^\n]*$", re.MULTILINE)
CALLS = ("check", "show", "hint")  # what a notebook of ours calls of labkit, and no answer may import


def clean(source: str, exercise: str) -> tuple[str, tuple[Flag, ...]]:
    """The text that stands for the answer to `exercise`, its anchor first, and what had to go."""
    flags = []
    plain = NBVAL.sub("", source)
    if plain != source:
        flags.append(Flag("marks", f"{exercise}: marks for nbval were taken out"))
    python = without_magics(plain)
    if python != plain:
        flags.append(Flag("magics", f"{exercise}: magics were taken out"))
    bare = _without_checks(python)
    return _anchored(bare, exercise), tuple(flags)


def without_anchor(source: str) -> str:
    """Another cell of the learner's, cleaned in the same way."""
    return _without_checks(without_magics(NBVAL.sub("", source)))


def _without_checks(source: str) -> str:
    """Without the top-level calls of check, show and hint, and the import of them."""
    tree, lines = parse(source), source.split("\n")
    for node in tree.body if tree else ():
        if _is_check(node):
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return "\n".join(lines)


def _is_check(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "labkit" and all(alias.name in CALLS for alias in node.names)
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CALLS


def _anchored(source: str, exercise: str) -> str:
    """With the anchor on the first line, by moving the one that is there or by adding one."""
    anchor, lines = f"# labkit: {exercise}", source.split("\n")
    at = next((number for number, line in enumerate(lines) if anchor_in(line) == exercise), None)
    if at is None:
        return f"{anchor}\n{source}"
    rest = lines[:at] + lines[at + 1 :]
    while at and rest and rest[0].strip() in ("", "pass"):  # where a magic stood
        rest.pop(0)
        at -= 1
    return "\n".join([anchor, *rest])


def anchor_in(line: str) -> str:
    """The id in one line that is an anchor, "" for any other."""
    match = ANCHOR.match(line)
    return match.group(1) if match else ""


def anchors(source: str) -> Iterator[str]:
    """The ids of all lines that are anchors, wherever they stand."""
    return (found for found in map(anchor_in, source.split("\n")) if found)
