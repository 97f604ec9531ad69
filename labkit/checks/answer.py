"""From a piece of source to the names an exercise asks for, or one clear line that says why not.

The source is looked at before it runs: does it parse, is it still the stub, does it import only what an answer may. It is then executed in a namespace of its
own, anew for every process, so that nothing survives a process in a global.

Not handled here: which cells are the answer (see `cells`), and limits on time and memory (see `host`).
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from labkit.checks.cells import MOST_BYTES, anchor_of, from_notebook, place, read, with_what_it_uses
from labkit.checks.exercise import Answer, Exercise
from labkit.checks.hashes import hash_in, id_in
from labkit.checks.hidden import look_behind
from labkit.checks.imports import Forbidden, guarded_builtins, look_at_imports, refused
from labkit.errors import LabkitError, UsageError
from labkit.faults.outcome import ANSWER, line_of_answer

__all__ = ["Forbidden", "NotAttempted", "anchor_of", "from_notebook", "load", "look", "read", "with_what_it_uses"]

NOT_PARSED = "the answer does not parse"
PYTHON = ".".join(map(str, sys.version_info[:2]))  # a newer one may understand more


class NotAttempted(LabkitError):
    """The stub is untouched."""


def look(source: str, exercise: Exercise) -> None:
    """Look at an answer without running it. Raises `UsageError`, `NotAttempted` or `Forbidden`."""
    if "\0" in source or len(source) > MOST_BYTES:
        raise UsageError("the answer is not Python source")
    tree = _compiled(source, exercise, only_parse=True)
    stubs = {name: is_stub(tree, name) for name in exercise.signatures}
    if any(stubs.values()):
        names = [name for name, stub in stubs.items() if stub]
        raise NotAttempted(f"{', '.join(names)} {'is still the stub' if len(names) == 1 else 'are still stubs'}")
    look_at_imports(tree)


def _compiled(source: str, exercise: Exercise, *, only_parse: bool = False) -> Any:
    """The answer's code or its syntax tree. Raises `UsageError` with the reason and the line."""
    flags = ast.PyCF_ONLY_AST if only_parse else 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(source, f"{ANSWER}{exercise.id}>", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise UsageError(f"{NOT_PARSED}: {error.msg}, {place(source, error.lineno or 1)} (read by Python {PYTHON})") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise UsageError(NOT_PARSED) from None


def is_stub(tree: ast.Module, name: str) -> bool:
    """Whether the definition of `name` still has nothing but `...` in it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    if not found:
        return False
    body = found[-1].body
    if isinstance(found[-1], ast.ClassDef):
        methods = [node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return (bool(methods) and all(_nothing(method.body) for method in methods)) or (not methods and _nothing(body))
    return _nothing(body)


def _nothing(body: Sequence[ast.stmt]) -> bool:
    """Whether these statements are a docstring and `...`, or less."""
    constants = [
        node.value.value for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    return len(constants) == len(body) and all(value is ... or isinstance(value, str) for value in constants)


def load(source: str, exercise: Exercise) -> Answer:
    """The answer, ready to run. Executes it once; raises `UsageError` when that fails or the signature is another."""
    code, started = _compiled(source, exercise), count()

    def execute() -> dict[str, Any]:
        module = types.ModuleType("answer")
        sys.modules["answer"] = module  # dataclasses and pickle look a class's module up
        number = next(started)
        module.__dict__["__builtins__"] = {**guarded_builtins(), "hash": hash_in(number), "id": id_in(number)}
        exec(code, module.__dict__)  # running the answer is what a check is for
        return module.__dict__

    try:
        names = execute()
    except Forbidden:
        raise
    except Exception as error:
        if refused:  # whatever became of the refusal on its way
            raise Forbidden(refused[0]) from None
        line = line_of_answer(error.__traceback__)
        where = f" ({place(source, line)})" if line else ""
        raise UsageError(f"the answer fails while it loads: {type(error).__name__}: {str(error)[:200]}{where}") from None
    except BaseException as error:
        raise UsageError(f"the answer ends the process while it loads ({type(error).__name__})") from None
    look_behind(names)
    for name, parameters in exercise.signatures.items():
        _check_signature(names, name, parameters, asynchronous=exercise.asynchronous)
    for name, parameters in exercise.methods.items():
        _check_method(names, name, parameters, source)
    return Answer(execute)


def _check_signature(names: Mapping[str, Any], name: str, parameters: Sequence[str], *, asynchronous: bool) -> None:
    """A parameter that starts with `*` in `parameters` is given by name, the others by place. Whether a plain function returns something that can be
    awaited is seen when it is called."""
    wanted = f"{'async ' if asynchronous else ''}{name}({', '.join(parameters)})"
    if name not in names:
        raise UsageError(f"the answer does not define {wanted}")
    if not callable(names[name]):
        raise UsageError(f"{name} is not a function: the exercise asks for {wanted}")
    places = [p for p in parameters if not p.startswith("*")]
    if inspect.iscoroutinefunction(names[name]) and not asynchronous:
        raise UsageError(f"{name} is an `async def`, and the exercise asks for a plain function {wanted}")
    try:
        signature = inspect.signature(names[name])
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*places, **{p[1:]: p for p in parameters if p.startswith("*")})
    except TypeError:
        raise UsageError(f"{name}{signature} has another signature than the exercise's {wanted}") from None


def _check_method(names: Mapping[str, Any], path: str, parameters: Sequence[str], source: str) -> None:
    """`path` is class.method. What is made only with the object (a function in a field of it) is seen when it is called."""
    owner, _, name = path.partition(".")
    wanted, found = f"{path}({', '.join(parameters)})", inspect.getattr_static(names[owner], name, None)
    if not isinstance(names[owner], type):  # a function that makes the object
        return
    if found is None and name not in source:
        raise UsageError(f"the answer does not define {wanted}")
    if inspect.iscoroutinefunction(found):
        raise UsageError(f"{path} is an `async def`, and the exercise asks for a plain method {wanted}")
    if not inspect.isfunction(found):
        return
    try:
        inspect.signature(found).bind("self", *parameters)
    except TypeError:
        raise UsageError(f"{path}{inspect.signature(found)} has another signature than the exercise's {wanted}") from None
