"""A Python file as the cells that it was exported from, or as the one cell that it is.

Jupyter's export has `# In[3]:` between the cells and spells magics as calls of `get_ipython()`; editors write `# %%`. A cell magic that times or captures a
cell hands the cell back, any other magic is `pass`. A file in which several exercises are answered is cut in front of each anchor.

Not handled here: a mark inside a text in triple quotes, which is taken for one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from labkit.checks.cells import anchor_of, parse

MARK = re.compile(r"^# (?:In\s?\[[ \d*]*\]:|%%.*)[ \t]*$", re.MULTILINE)
MAGICS = ("run_cell_magic", "run_line_magic", "system", "magic", "getoutput", "set_next_input")


def cells(text: str) -> list[str]:
    """The sources of the cells, without those that are empty."""
    parts = MARK.split(text)
    exported = len(parts) > 1
    found = (piece for part in parts for piece in _between_anchors(_told(part) if exported else part))
    return [piece.strip("\n") for piece in found if piece.strip()]


def _told(part: str) -> str:
    """A cell of an export without the text cells behind it, which are comments there, and without magics."""
    lines = part.split("\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")), default=len(lines))
    return _without_magics("\n".join(lines[:last]))


def _without_magics(part: str) -> str:
    tree, lines = parse(part), part.split("\n")
    for node in tree.body if tree else ():
        call = _magic(node)
        if call is None:
            continue
        inner = _cell_in(call)
        if inner and tree and len(tree.body) == 1:
            return inner
        first, last = node.lineno, node.end_lineno or node.lineno
        lines[first - 1 : last] = ["pass"] + [""] * (last - first)
    return "\n".join(lines)


def _magic(node: ast.stmt) -> ast.Call | None:
    """The call in a statement `get_ipython().run_line_magic(...)` or the like."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in MAGICS:
        return None
    shell = call.func.value
    named = isinstance(shell, ast.Call) and isinstance(shell.func, ast.Name) and shell.func.id == "get_ipython"
    return call if named else None


def _cell_in(call: ast.Call) -> str:
    """The Python that a cell magic was written on top of, "" where there is none."""
    last = call.args[-1] if call.args and isinstance(call.func, ast.Attribute) and call.func.attr == "run_cell_magic" else None
    inner = last.value if isinstance(last, ast.Constant) and isinstance(last.value, str) else ""
    return inner if parse(inner) is not None else ""


def _between_anchors(part: str) -> Iterator[str]:
    """One piece for each exercise that a cell says it answers; what stands before the first anchor belongs to the first."""
    lines = part.split("\n")
    at = [number for number, line in enumerate(lines) if anchor_of(line)]
    different = len({anchor_of(lines[number]) for number in at}) > 1
    cuts = [0, *at[1:], len(lines)] if different else [0, len(lines)]
    yield from ("\n".join(lines[start:end]) for start, end in pairwise(cuts))
