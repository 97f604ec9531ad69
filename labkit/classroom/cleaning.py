"""An answer's text without what a grader must not run or obey: magics, marks for nbval, calls of the notebook's own checks, and what only a notebook can
show or wait for.

Line for line: what goes leaves an empty line or `pass`, so that a message names the line that the learner sees. What went is told in flags.

Not handled here: what the answer does (see `suspicious`, `box`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from labkit.checks.cells import ANCHOR, parse, without_magics
from labkit.checks.effects import root, waits
from labkit.classroom.submission import Flag

NBVAL = re.compile(r"^[ \t]*#+[ \t]*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)[^\n]*$", re.MULTILINE)
CALLS = ("check", "show", "hint")  # what a notebook of ours calls of labkit, and no answer may import
HOMES = ("labkit", "labkit.lab")  # where they are imported from
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@lru_cache(maxsize=2_000)
def clean(source: str, exercise: str) -> tuple[str, tuple[Flag, ...]]:
    """The text that stands for the answer to `exercise`, its anchor first, and what had to go."""
    flags = []
    plain = NBVAL.sub("", source)
    if plain != source:
        flags.append(Flag("marks", f"{exercise}: marks for nbval were taken out"))
    python = without_magics(plain)
    bare = _without_checks(python)
    if python != plain or bare.count("get_ipython") < python.count("get_ipython"):
        flags.append(Flag("magics", f"{exercise}: magics were taken out"))
    if any(map(waits, getattr(parse(python), "body", ()))):
        flags.append(Flag("awaits", f"{exercise}: what only a notebook can await outside of a function was taken out"))
    return _anchored(bare, exercise), tuple(flags)


def without_checks(source: str) -> str:
    """Another cell of the learner's, cleaned in the same way."""
    return _without_checks(without_magics(NBVAL.sub("", source)))


def _without_checks(source: str) -> str:
    """Without what tries the answer out at its top (see `_Trials`) or uses what that said, and without the import of our checks; what a learner calls so
    stays."""
    tree = parse(source)
    if tree is None:
        return source
    trials, lines = _Trials(tree), source.split("\n")
    for node in reversed([*_that_go(tree, trials)]):  # subtle: the last first, since what is cut moves what stands behind it in its line
        _cut(lines, node, trials.rest_of(node))
    return "\n".join(lines)


def _that_go(tree: ast.Module, trials: _Trials) -> Iterator[ast.stmt]:
    """The statements that go, in their order."""
    gone = set[str]()  # names that hold what a check said
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            if trials.rest_of(node) is not None:
                yield node
        elif not isinstance(node, DEFINES):
            used = any(getattr(part, "id", "") in gone for part in ast.walk(node))
            if used or trials.of_checks(node) or waits(node) or (isinstance(node, ast.Expr) and trials.shows(node)):
                gone |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
                yield node
            else:
                yield from (inner for inner in _inside(node) if trials.shows(inner))


def _inside(statement: ast.AST) -> Iterator[ast.Expr]:
    """The expression statements in a loop or the like, in their order, but not those in functions and classes."""
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.Expr):
            yield node
        elif not isinstance(node, DEFINES):
            yield from _inside(node) if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) else ()


class _Trials:
    """What only tries an answer out: calls of the notebook's own checks under whatever name, and what a notebook alone can show."""

    def __init__(self, tree: ast.Module) -> None:
        imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module in HOMES]
        names = {alias.asname or alias.name for node in imported for alias in node.names if alias.name in CALLS}
        own = {name for node in tree.body if node not in imported for name in _bound(node)}
        modules = [alias for node in tree.body if isinstance(node, ast.Import) for alias in node.names if alias.name in HOMES]
        self.checks = {*CALLS, *names} - own
        self.display = {"display"} - own
        self.modules = {"labkit"}.union(alias.asname or "labkit" for alias in modules)

    def of_checks(self, statement: ast.stmt) -> bool:
        return any(isinstance(node, ast.Call) and self._checks(node.func) for node in ast.walk(statement))

    def _checks(self, called: ast.expr) -> bool:
        of_labkit = isinstance(called, ast.Attribute) and called.attr in CALLS and root(called) in self.modules
        return of_labkit or (isinstance(called, ast.Name) and called.id in self.checks)

    def shows(self, statement: ast.Expr) -> bool:
        """Whether an expression displays something, calls a magic, or sets up how this process prints."""
        call = statement.value
        if not isinstance(call, ast.Call):
            return False
        stream = isinstance(call.func, ast.Attribute) and ast.unparse(call.func).startswith(("sys.stdout.", "sys.stderr."))
        return stream or root(call) == "get_ipython" or (isinstance(call.func, ast.Name) and call.func.id in self.display)

    def rest_of(self, node: ast.stmt) -> ast.stmt | None:
        """What stays of an import of our checks and more, None where all stays or nothing."""
        if not isinstance(node, ast.ImportFrom) or node.module not in HOMES:
            return None
        kept = [alias for alias in node.names if (alias.asname or alias.name) not in self.checks]
        return ast.ImportFrom(node.module, kept, 0) if len(kept) < len(node.names) else None


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top binds, but for those that it calls itself (`show = show("retry")`)."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    nodes = [*ast.walk(statement)]
    assigns = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
    called = {node.func.id for node in nodes if assigns and isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    inner = {part.id for node in nodes if isinstance(node, ast.comprehension) for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} - called - inner


def _cut(lines: list[str], node: ast.stmt, rest: ast.stmt | None) -> None:
    """Take a statement out of its lines, which stay as many; what stands beside it in them stays."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before = lines[first].encode()[: node.col_offset].decode()
    behind = lines[last].encode()[node.end_col_offset :].decode()
    kept = ast.unparse(rest) if isinstance(rest, ast.ImportFrom) and rest.names else ""
    alone = not before and not behind.lstrip("; \t").partition("#")[0].strip()
    lines[first : last + 1] = [kept if alone else f"{before}{kept or 'pass'}{behind}"] + [""] * (last - first)


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
