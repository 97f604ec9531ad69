"""An answer's text without what a grader must not run or obey: magics, marks for nbval, and calls of the notebook's own checks.

Line for line: what goes leaves an empty line or `pass`, so that a message names the line that the learner sees. What went is told in flags.

Not handled here: what the answer does (see `suspicious`, `box`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from labkit.checks.cells import ANCHOR, parse, without_magics
from labkit.classroom.submission import Flag

NBVAL = re.compile(r"^[ \t]*#+[ \t]*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)[^\n]*$", re.MULTILINE)
CALLS = ("check", "show", "hint")  # what a notebook of ours calls of labkit, and no answer may import


@lru_cache(maxsize=2_000)
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


def without_checks(source: str) -> str:
    """Another cell of the learner's, cleaned in the same way."""
    return _without_checks(without_magics(NBVAL.sub("", source)))


def _without_checks(source: str) -> str:
    """Without what calls check, show or hint at the top or uses what they said, and without the import of them; what a learner calls so stays."""
    tree, lines = parse(source), source.split("\n")
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} if tree else set()
    calls = {name for name in CALLS if name not in own}
    gone = set[str]()  # names that hold what a check said
    for node in tree.body if tree else ():
        last = node.end_lineno or node.lineno
        defines = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
        if isinstance(node, ast.ImportFrom) and node.module == "labkit" and any(alias.name in calls for alias in node.names):
            node.names = [alias for alias in node.names if alias.name not in calls]
            lines[node.lineno - 1 : last] = [ast.unparse(node) if node.names else ""] + [""] * (last - node.lineno)
        elif not defines and any(_calls(part, calls) or getattr(part, "id", "") in gone for part in ast.walk(node)):
            gone |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return "\n".join(lines)


def _calls(node: ast.AST, names: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    of_labkit = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "labkit" and called.attr in names
    return of_labkit or (isinstance(called, ast.Name) and called.id in names)


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
