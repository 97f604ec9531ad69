"""Mechanical mutants of a right answer: one small change each, in the order of the source, the same set every time.

A statement is dropped or swapped with the next (unless both only name something), a comparison or a condition turned round, an `except` widened or
removed, a constant, a state, a number, an argument changed or left out. What only words an error or explains is left alone.

Not handled here: two changes at once, and which mutants are still right (see `equivalents`).
"""

import ast
from collections.abc import Iterator

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SUMS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Pow: ast.Mult}
STATES = ("PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED")
BLOCKS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.Try, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.ExceptHandler,
)  # fmt: skip
BODIES = ("body", "orelse", "finalbody")


def mutants(source: str) -> dict[str, str]:
    """The mutants of an answer: what was changed -> the changed source. No two are alike, and none is the answer itself."""
    tree = ast.parse(source)
    seen, silent = {ast.unparse(tree)}, _silent(tree)
    made: dict[str, str] = {}
    for number, node in enumerate(list(ast.walk(tree))):
        for says, change in _changes(node, silent):
            changed = ast.parse(source)
            change(list(ast.walk(changed))[number])
            text = ast.unparse(ast.fix_missing_locations(changed))
            name = f"{getattr(node, 'lineno', 0)}: {says}"
            if text not in seen:
                seen.add(text)
                made[name if name not in made else f"{name} (again)"] = text
    return dict(sorted(made.items(), key=lambda item: int(item[0].partition(":")[0])))


def _silent(tree: ast.Module) -> set[int]:
    """The nodes that only word an error, annotate or explain, by their identity."""
    found = set()
    for node in ast.walk(tree):
        quiet: list[ast.AST | None] = []
        if isinstance(node, ast.Raise):
            quiet = [node.exc.args and ast.Tuple(node.exc.args) if isinstance(node.exc, ast.Call) else None]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            quiet = [node.returns, *(argument.annotation for argument in node.args.args)]
        elif isinstance(node, ast.JoinedStr):
            quiet = list(node.values)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            quiet = [node]
        found |= {id(part) for one in quiet if one for part in ast.walk(one)}
    return found


def _changes(node: ast.AST, silent: set[int]) -> Iterator[tuple[str, object]]:
    if id(node) in silent:
        return
    if isinstance(node, BLOCKS):
        yield from _statements(node, silent)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield f"negates {_short(node.test)}", _set("test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Try):
        yield from _handlers(node)
    if isinstance(node, (ast.Compare, ast.BinOp)):
        yield from _operators(node)
    if isinstance(node, ast.Constant):
        yield f"{node.value!r} -> {_other(node.value)!r}", _set("value", _other(node.value))
    if isinstance(node, ast.Attribute) and node.attr in STATES:
        other = STATES[(STATES.index(node.attr) + 1) % len(STATES)]
        yield f"{node.attr} -> {other}", _set("attr", other)
    if isinstance(node, ast.Call):
        yield from _arguments(node)


def _statements(node: ast.AST, silent: set[int]) -> Iterator[tuple[str, object]]:
    for field in BODIES:
        body = getattr(node, field, None) or []
        for at, statement in enumerate(body):
            if id(statement) in silent:
                continue
            yield f"drops {_short(statement)}", _drop(field, at)
            if at + 1 < len(body) and not _names_things(statement, body[at + 1]):
                yield f"swaps {_short(statement)} with the next", _swap(field, at)


def _names_things(*statements):
    """Whether each only gives something a name: in which order mostly means nothing."""
    return all(isinstance(statement, (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for statement in statements)


def _drop(field, at):
    def change(node):
        body = getattr(node, field)
        del body[at]
        if not body and field == "body":
            body.append(ast.Pass())

    return change


def _swap(field, at):
    def change(node):
        body = getattr(node, field)
        body[at], body[at + 1] = body[at + 1], body[at]

    return change


def _set(name, value):
    return lambda node: setattr(node, name, value)


def _handlers(node: ast.Try) -> Iterator[tuple[str, object]]:
    for at, handler in enumerate(node.handlers):
        caught = _short(handler.type) if handler.type else "everything"
        if caught != "BaseException":
            yield (
                f"except {caught} -> BaseException",
                lambda node, at=at: setattr(node.handlers[at], "type", ast.Name("BaseException")),
            )
        yield f"removes except {caught}", lambda node, at=at: _remove_handler(node, at)


def _remove_handler(node, at):
    del node.handlers[at]
    if not node.handlers and not node.finalbody:
        node.handlers = [ast.ExceptHandler(ast.Tuple([]), None, [ast.Raise()])]  # catches nothing
    elif not node.handlers:
        node.orelse, node.body = [], [*node.body, *node.orelse]


def _operators(node) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]
        yield (
            f"{_short(node)}: {type(node.ops[0]).__name__} -> {other.__name__}",
            lambda node: node.ops.__setitem__(0, other()),
        )
    if isinstance(node, ast.BinOp) and type(node.op) in SUMS:
        other = SUMS[type(node.op)]
        yield f"{_short(node)}: {type(node.op).__name__} -> {other.__name__}", _set("op", other())


def _other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return "mutant" if value is None or isinstance(value, str) else None


def _arguments(node: ast.Call) -> Iterator[tuple[str, object]]:
    for at, keyword in enumerate(node.keywords):
        yield f"{_short(node.func)} without {keyword.arg}", lambda node, at=at: node.keywords.__delitem__(at)
    for at in range(len(node.args)):
        for other in range(len(node.args)):
            if other != at:
                says = f"{_short(node.func)}: argument {at + 1} is {_short(node.args[other])}"
                yield says, lambda node, at=at, other=other: node.args.__setitem__(at, node.args[other])


def _short(node: ast.AST) -> str:
    text = ast.unparse(node).split("\n")[0]
    return text if len(text) <= 60 else text[:57] + "..."
