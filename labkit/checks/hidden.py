"""The library's own solutions, out of an answer's sight while it runs.

In the child that runs an answer the modules of the solutions are hidden: in `sys.modules` and in `labkit` a trip wire stands for each, an import of one or the
opening of its file is refused (an audit hook, which cannot be taken off), and a name of the answer behind which a function of theirs stands is found
by looking through closures, partials and methods. What trips is remembered as a forbidden import, whoever catches the error.

Not handled here: an answer that is out to deceive, such as one that finds a function among all objects of the process while it runs, copies a
file by way of C, or has learnt the solution by heart (see the box of the grader).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from labkit.checks import imports
from labkit.checks.imports import NAMES, PACKAGE, VALUES
from labkit.faults.outcome import ANSWER

TOPS = ("retry", "deadline", "execution", "deployment", "queue", "saga", "checkpoint", "agent", "lessons", "demo", "server", "progress.live", "invariants")
SOLUTIONS = tuple(f"labkit.{top}" for top in TOPS)
HOME = f"{PACKAGE}{os.sep}"
BESIDE = tuple(f"{PACKAGE.parent / name}{os.sep}" for name in ("solutions", "tests"))  # in a checkout
MOST_LOOKED_AT = 5_000  # objects behind an answer's names


_hidden: list[bool] = []  # whether it is done


def is_hidden(module: object) -> bool:
    """Whether this is the name of a module of the solutions."""
    if not isinstance(module, str) or module in VALUES or not module.startswith(SOLUTIONS):
        return False
    return f"{module}.".startswith(tuple(f"{s}." for s in SOLUTIONS))


class TripWire(ModuleType):
    """Stands in the place of a hidden module. What answers may use of it is there, all else is refused."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__file__ = "hidden"
        self.__spec__ = ModuleSpec(module.__name__, _Loader(module.__name__))  # looked at by every import, used by who would load it again
        self.__dict__.update({name: value for name, value in vars(module).items() if name in NAMES})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        imports.remember(self.__name__)


class _Loader(Loader):
    """Loads nothing, and is asked for nothing unnoticed."""

    def __init__(self, module: str) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        imports.remember(self._module)

    def __getattr__(self, name: str) -> Any:
        imports.remember(self._module)


def hide() -> None:
    """From now on nobody in this process, or forked from it, finds the solutions; who holds a function of theirs keeps it. There is no way back."""
    if _hidden:
        return
    _hidden.append(True)
    imports.load_names()
    for name, module in list(sys.modules.items()):
        if is_hidden(name) and not isinstance(module, TripWire):
            sys.modules[name] = TripWire(module)
    for name in _modules():
        if name not in sys.modules:
            sys.modules[name] = TripWire(ModuleType(name))
        parent, _, last = name.rpartition(".")
        if parent in sys.modules and not isinstance(sys.modules[parent], TripWire):
            setattr(sys.modules[parent], last, sys.modules[name])
    sys.addaudithook(_look)


@cache
def _modules() -> tuple[str, ...]:
    """The modules of the solutions that lie on the disk."""
    found = [path.relative_to(PACKAGE.parent).with_suffix("") for path in sorted(PACKAGE.rglob("*.py"))]
    names = (".".join(path.parts).removesuffix(".__init__") for path in found)
    return tuple(name for name in names if is_hidden(name))


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: no import of a hidden module, and no look into its file."""
    module = ""
    if event == "import":
        module = arguments[0] if is_hidden(arguments[0]) else ""
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        module = _module_of(os.fsdecode(arguments[0]))
    if module and _asked_by_answer():
        imports.remember(module)


def _asked_by_answer() -> bool:
    """Whether an answer's code is at work, and not only the host's: a search looks into sources for its examples."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.startswith(ANSWER):
        frame = frame.f_back
    return frame is not None


def _module_of(path: str) -> str:
    """The hidden module whose source or byte code lies here, "" for any other file."""
    if ".." in path:
        path = os.path.abspath(path)
    if path.startswith(BESIDE) and (PACKAGE.parent / "pyproject.toml").exists():
        return f"labkit:{Path(path).name}"
    if not path.startswith(HOME):
        return ""
    parts = [part for part in Path(path[len(HOME) :]).parts if part != "__pycache__"]
    name = ".".join(["labkit", *parts[:-1], parts[-1].partition(".")[0]]).removesuffix(".__init__")
    return name if is_hidden(name) else ""


def look_behind(names: Mapping[str, Any]) -> None:
    """Raise `Forbidden` when something of the solutions stands behind one of an answer's names."""
    seen, waiting = set[int](), [value for name, value in names.items() if name != "__builtins__"]
    while waiting and len(seen) < MOST_LOOKED_AT:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            module = _theirs(one)
            if module:
                imports.remember(module)
            waiting.extend(_behind(one))


def _theirs(one: Any) -> str:
    """The hidden module that this comes from, "" where it does not, or where answers may use it."""
    if isinstance(one, FunctionType):
        return one.__module__ if is_hidden(one.__module__) else _module_of(one.__code__.co_filename)
    if isinstance(one, TripWire):
        return ""  # it speaks for itself
    kind = one if isinstance(one, type) else type(one)
    if isinstance(one, ModuleType):
        return one.__name__ if is_hidden(one.__name__) else _module_of(str(vars(one).get("__file__")))
    module = vars(kind).get("__module__", "")
    return module if is_hidden(module) and kind.__name__ not in NAMES else ""


def _behind(one: Any) -> Iterator[Any]:
    """What is reached through an object of the answer's own, or through one that only wraps another."""
    if isinstance(one, FunctionType):
        if one.__code__.co_filename.startswith(ANSWER) or "__wrapped__" in vars(one):
            yield from _cells(one)
            yield from (*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values(), *vars(one).values())
    elif isinstance(one, partial):
        yield from (one.func, *one.args, *one.keywords.values())
    elif isinstance(one, MethodType):
        yield from (one.__func__, one.__self__)
    elif isinstance(one, (staticmethod, classmethod)):
        yield one.__func__
    elif isinstance(one, property):
        yield from (one.fget, one.fset)
    elif type(one) in (list, tuple, set, frozenset):
        yield from one
    elif type(one) is dict:
        yield from one.values()
    elif isinstance(one, type):
        yield from (*one.__bases__, *vars(one).values()) if vars(one).get("__module__") == "answer" else ()
    elif vars(type(one)).get("__module__") == "answer":
        yield from _dictionary(one).values()


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _dictionary(one: Any) -> dict[str, Any]:
    found = object.__getattribute__(one, "__dict__") if "__dict__" in dir(type(one)) else {}
    return found if type(found) is dict else {}


