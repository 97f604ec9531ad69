"""Where an answer stands: in a file, or in the cell of a notebook whose first line is `# labkit: <id>`.

From the other cells come the statements that define or change what the answer uses, directly or through another one (see `effects`), in their order, those
before it first.
What a cell shows or checks stays behind.

Not handled here: a notebook that is out to deceive (see the grader), and whether the answer is any good.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import stat
import symtable
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from labkit.checks.effects import Effects, asks, waits
from labkit.checks.imports import NAMES
from labkit.errors import UsageError

MOST_BYTES = 1_000_000
MOST_STATEMENTS = 5_000  # in the cells around an answer: what becomes of more would take minutes to find out
OWN_CELL = "# the answer's own cell"  # stands between what other cells gave and the answer
MAGIC = re.compile(r"^(\s*)(?:[%!?].*|[\w.]+\?{1,2}|\w[\w\s,.]*=\s*[%!].*)$")  # subtle: linear also for a line of a million spaces
ANCHOR = re.compile(r"^\s*#\s*labkit:\s*([A-Za-z0-9_-]+)\s*$")


def read(path: str, exercise: str) -> str:
    """The answer's source from a .py file or a notebook. Raises `UsageError`."""
    file = Path(path)
    notebook = file.suffix.lower() == ".ipynb"
    try:
        data = _bytes(file, MOST_BYTES * (20 if notebook else 1))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    return from_notebook(text, exercise, path) if notebook else text


def _bytes(file: Path, most: int) -> bytes:
    kind = file.stat()
    if stat.S_ISDIR(kind.st_mode):
        raise UsageError(f"{file} is a folder, not a file: move it away, or name another one")
    if not stat.S_ISREG(kind.st_mode):  # a pipe would be waited for, a device never ends
        raise UsageError(f"{file} is no ordinary file")
    if kind.st_size > most:
        raise UsageError(f"{file} is too large for an answer")
    return file.read_bytes()


def from_notebook(text: str, exercise: str, path: str) -> str:
    """The cell with the anchor, after what it uses of the cells before it. Raises `UsageError`."""
    try:
        cells = [_source(cell) for cell in json.loads(text)["cells"] if cell.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} is not a notebook") from None
    marked = [index for index, cell in enumerate(cells) if anchor_of(cell) == exercise]
    if not marked:
        raise UsageError(f"{path} has no cell that begins with `# labkit: {exercise}`")
    return with_what_it_uses(cells[marked[-1]], cells[: marked[-1]], cells[marked[-1] + 1 :])


def _source(cell: Mapping[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else joined(source)


def joined(lines: Sequence[str]) -> str:
    """The lines of a cell as one text: each with its line end, as the format wants it, or, from some programs, all without."""
    return ("" if any(line.endswith("\n") for line in lines) else "\n").join(lines)


def anchor_of(source: str) -> str | None:
    """The id in the first line `# labkit: <id>`, or None."""
    first = source.lstrip().split("\n", 1)[0]
    match = ANCHOR.match(first)
    return match.group(1) if match else None


def with_what_it_uses(answer: str, earlier: Sequence[str], later: Sequence[str] = ()) -> str:
    """The answer, and in front of it the statements of other cells that define or change a name it uses, directly or through another one.

    What no earlier cell defines is taken from a later one: a learner writes it there, and runs the answer again.
    """
    answer = without_magics(answer)
    tree, own = parse(answer), anchor_of(answer)
    if tree is None:
        return answer

    def statements(cells: Sequence[str]) -> list[ast.stmt]:
        kept = [without_magics(cell) for cell in cells if own is None or anchor_of(cell) != own]
        return [node for cell in kept for node in _statements(parse(cell))]

    try:
        needed, above, below = _free(tree), statements(earlier), statements(later)
        if len(above) + len(below) > MOST_STATEMENTS:
            raise UsageError(f"the other cells hold more than {MOST_STATEMENTS:,} statements: leave in the notebook what the answer needs")
        before = _closure(above, needed | {"*"}, tree)
        there = {name for node in [*tree.body, *before] for name in _defined(node)}
        missing = needed.union(*map(_free, before)) - there - {*dir(builtins)}
        behind = _closure(below, missing, tree, there) if missing else []
        front = [ast.unparse(node) for node in [*before, *behind]]
    except RecursionError:
        raise UsageError("a cell that the answer uses is nested too deeply") from None
    return _future_first(tree, front, answer) if front else answer


def _closure(statements: Sequence[ast.stmt], needed: set[str], answer: ast.Module, there: Set[str] = frozenset()) -> list[ast.stmt]:
    """Those that define or change one of these names, or one that they use themselves and that is not `there`."""
    chosen, effects = set[int](), Effects(statements, answer.body)
    defined, changed = [_defined(node) for node in statements], [effects.of(node) for node in statements]
    while True:
        more = {at for at in range(len(statements)) if at not in chosen and not (defined[at].isdisjoint(needed) and changed[at].isdisjoint(needed))}
        if not more:
            return [statements[at] for at in sorted(chosen)]
        chosen |= more
        # subtle: another name for what is needed is needed too, since a change may be made under it
        needed = needed.union(*(_free(statements[at]) | (defined[at] if changed[at] else set()) for at in more)) - there


def _free(tree: ast.AST) -> set[str]:
    """The names that a piece of code takes from around it: no parameters, and no names of a function's own."""
    tables = [symtable.symtable(ast.unparse(tree), "cell", "exec")]
    found = set[str]()
    while tables:
        table = tables.pop()
        outer = table.get_type() == "module"
        found |= {one.get_name() for one in table.get_symbols() if one.is_referenced() and (outer or one.is_global())}
        tables += table.get_children()
    return found


def without_magics(cell: str) -> str:
    """The Python of a cell, line for line: what only a notebook understands (%magic, !command, name?) is `pass` here."""
    if parse(cell) is not None:
        return cell  # subtle: there a line may begin with % and be Python
    return "\n".join(MAGIC.sub(r"\1pass", line) for line in cell.split("\n"))


def redefined(names: Iterable[str], cells: Sequence[str]) -> str:
    """The first of these names that a cell without any anchor defines at its top, "" for none."""
    found = {name for cell in cells if anchor_of(cell) is None for node in _statements(parse(cell)) for name in _defined(node)}
    return next((name for name in names if name in found), "")


def _future_first(tree: ast.Module, front: Sequence[str], answer: str) -> str:
    """`from __future__` must come first, also when other cells' statements go in front."""
    lines = answer.split("\n")
    moved = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    for node in moved:
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    first = [line for line in front if line.startswith("from __future__")]
    rest = [line for line in front if not line.startswith("from __future__")]
    return "\n".join([*map(ast.unparse, moved), *first, *rest, OWN_CELL, *lines])


def place(source: str, line: int) -> str:
    """Where a line of an answer's source stands, as the learner counts: from the top of the file, or of the answer's own cell."""
    lines = source.split("\n")
    above = max((number for number, text in enumerate(lines, 1) if text == OWN_CELL), default=0)
    if line > above:
        return f"line {line - above} of the answer"
    return f"another cell, at `{lines[line - 1].strip()[:80]}`"


def parse(source: str) -> ast.Module | None:
    """The syntax tree, or None for what is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a learner's "\d" is not our reader's business
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statements(tree: ast.Module | None) -> Iterator[ast.stmt]:
    """A cell's statements, but for those that only a notebook can run, and those that do nothing; of labkit's names those that an answer may use."""
    for node in tree.body if tree else []:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "labkit":
            node.names = [alias for alias in node.names if alias.name in NAMES or alias.name == "*"]
            if not node.names:
                continue
        if (not isinstance(node, ast.Expr) or any(isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(node))) and not (waits(node) or asks(node)):
            yield node


def _changed_by(statement: ast.Expr) -> str:
    """The name on which a statement calls a method (`waits.append(1)`), "" for any other."""
    inner: ast.AST = statement.value.func if isinstance(statement.value, ast.Call) else statement.value
    called = isinstance(inner, ast.Attribute)
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        inner = inner.value
    return inner.id if called and isinstance(inner, ast.Name) else ""


def _used(tree: ast.AST | None) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a cell binds or changes; those inside a function or class are its own."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {name for target in targets for name in _used(target)}
    if isinstance(statement, ast.Expr):
        return {part.target.id for part in ast.walk(statement) if isinstance(part, ast.NamedExpr)} | ({_changed_by(statement)} - {""})
    bound = set[str]()
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        bound = _used(statement.target)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        bound = {name for item in statement.items for name in _used(item.optional_vars)}
    inside = list(ast.iter_child_nodes(statement))
    deeper = [child for node in inside if isinstance(node, (ast.ExceptHandler, ast.match_case)) for child in node.body]
    return bound.union(*(_defined(node) for node in [*inside, *deeper] if isinstance(node, ast.stmt)))
