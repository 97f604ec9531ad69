"""What a statement of a notebook's cell changes besides the names that it binds, as far as one can see without running it.

`fill(TABLE)`, `@register("wait")`, `setattr(Plan, "of", of)`, `count = fill(TABLE)`, `other = TABLE`, `class Two(Base)` and `configure()`, which sets a global:
each may change what an answer uses, although none binds its name. What only shows something (`print(TABLE)`, a call of a helper that changes nothing) does
not. Where it cannot be known the statement counts as a change: the notebook ran it too.

Not handled here: what a statement binds (see `cells`), and effects through names that no cell speaks of.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from labkit.checks.imports import PACKAGES

MOST_FUNCTIONS = 300  # of more it is not followed which calls which: the time would grow with their square
Function = ast.FunctionDef | ast.AsyncFunctionDef
CHANGING = frozenset({"setattr", "delattr", "map", "filter", "next", "exec"})  # of Python's own functions, those that change something or call something
CHANGING_MODULES = frozenset({"heapq", "bisect", "random", "operator", "functools", "itertools", "collections", "contextlib", "types"})
READING = frozenset({"get", "items", "keys", "values", "copy", "index", "count", "split", "join", "format", "strip", "lower", "startswith", "endswith"})
NOT_HERE = frozenset({"input", "get_ipython", "display"})  # what only a notebook has


class Effects:
    """What the statements of some cells change, which call functions of one another."""

    def __init__(self, statements: Sequence[ast.stmt], answer: Sequence[ast.stmt]) -> None:
        self._functions = {node.name: node for node in statements if isinstance(node, Function)}
        self._followed = len(self._functions) <= MOST_FUNCTIONS
        self._modules = _imports([*statements, *answer])
        self._imported = self._modules.keys() - {name for node in statements for name in _bound(node)}
        # subtle: what calls the answer tries it out, and what an answer may not import only shows something
        self._tried = {name for node in answer for name in _bound(node) if not isinstance(node, ast.For)} | {
            name for name in self._imported if self._modules[name] not in PACKAGES and self._modules[name] != "labkit"
        }
        self._inside = {name: {node.id for node in ast.walk(body) if isinstance(node, ast.Name)} for name, body in self._functions.items()}
        self._behind = {name: self._closed({name}) for name in self._functions}
        direct = {name: _by_itself(body) for name, body in self._functions.items()}
        self._changed = {name: set().union(*(direct[other] for other in self._behind[name] & direct.keys())) for name in direct}
        self._changing = {name for name, body in self._functions.items() if self._changes_something(body)}
        self._known = {id(node): self._of(node) for node in statements}

    def of(self, statement: ast.stmt) -> set[str]:
        """The names of what a statement changes without binding them."""
        return self._known[id(statement)]

    def _of(self, statement: ast.stmt) -> set[str]:
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if self._reached(names) & (self._tried | NOT_HERE - self._functions.keys()):
            return set()
        if isinstance(statement, Function | ast.ClassDef):
            found = set().union(*(self._by_decorating(one) for one in statement.decorator_list))
            bases = {root(base) for base in statement.bases} if isinstance(statement, ast.ClassDef) else set()
            return (found | bases) - self._imported - {""}
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Name):
            return {statement.value.id} - self._imported  # another name for the same thing
        calls = [node for node in _here(statement) if isinstance(node, ast.Call)]
        return set().union(*map(self._by_call, calls)) - self._imported - {""}

    def _by_call(self, call: ast.Call) -> set[str]:
        """What a call may change: what it is given, and what the function changes by itself."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        of_a_text = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant | ast.JoinedStr)
        of_a_module = root(call.func) in self._imported and self._modules[root(call.func)] not in CHANGING_MODULES
        if of_a_text or of_a_module or (name in dir(builtins) and name not in CHANGING):
            return set()
        given = {root(value) for value in (*call.args, *(keyword.value for keyword in call.keywords))}
        if name not in self._functions:
            return given | ({root(call.func)} if isinstance(call.func, ast.Attribute) else set())
        return self._changed[name] | (given if name in self._changing else set())

    def _by_decorating(self, decorator: ast.expr) -> set[str]:
        inner = [node.func.id for node in ast.walk(decorator) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        named = [*inner, root(decorator)]
        return {root(decorator)}.union(*(self._changed.get(name, set()) for name in named))

    @staticmethod
    def _changes_something(function: Function) -> bool:
        """Whether a function may change what it is given; one that only works something out does not."""
        return any(_changes(node) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) for node in ast.walk(function))

    def _reached(self, names: set[str]) -> set[str]:
        """These names, and those in the functions of the cells that they mean."""
        return names.union(*(self._behind[name] for name in names & self._behind.keys()))

    def _closed(self, names: set[str]) -> set[str]:
        found, waiting = set(names), list(names)
        while waiting:
            inside = self._inside[waiting.pop()]
            waiting += (inside - found) & self._functions.keys() if self._followed else ()
            found |= inside
        return found


def _by_itself(function: Function) -> set[str]:
    """The names around it that a function changes."""
    own = {arg.arg for node in ast.walk(function) if isinstance(node, ast.arguments) for arg in _arguments(node)}
    return {changed for node in ast.walk(function) for changed in _changes(node)} - own - {""}


def root(node: ast.AST) -> str:
    """The name at the beginning of `name.of[what](it)`, or of `*name`; "" where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def asks(statement: ast.stmt) -> bool:
    """Whether a statement is an expression that waits for a person."""
    calls = [node.func for node in _here(statement) if isinstance(node, ast.Call)] if isinstance(statement, ast.Expr) else []
    return any(isinstance(called, ast.Name) and called.id == "input" for called in calls)


def waits(statement: ast.stmt) -> bool:
    """Whether a statement awaits something itself, which only a notebook may do outside of a function."""
    return any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or getattr(node, "is_async", 0) for node in [statement, *_here(statement)])


def _changes(node: ast.AST) -> set[str]:
    """The names of what one node of a function changes: global ones that it sets, items and attributes that it stores, methods that it calls."""
    if isinstance(node, ast.Global):
        return set(node.names)
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return {root(node)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in READING:
        return {root(node.func)}
    return set()


def _here(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a statement that run with it: not those in functions and classes."""
    waiting = list(ast.iter_child_nodes(statement)) if not isinstance(statement, Function | ast.ClassDef | ast.Lambda) else []
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _arguments(node: ast.arguments) -> list[ast.arg]:
    return [*node.posonlyargs, *node.args, *node.kwonlyargs, *(one for one in (node.vararg, node.kwarg) if one)]


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds, but for imports."""
    if isinstance(statement, Function | ast.ClassDef):
        return {statement.name}
    return {node.id for node in _here(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _imports(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """The names that are imported, each with the first part of the module that it comes from."""
    found = dict[str, str]()
    for node in statements:
        if isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).split(".")[0]: alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: (node.module or "").split(".")[0] for alias in node.names}
    return found
