"""What an answer may import, and who says no: the source before it runs, and the import itself while it runs.

The standard library, sqlalchemy, starlette, sse_starlette, pydantic and anyio; from labkit the names of the exercises.
`import labkit` gives an answer a view of labkit that holds these names and no others, so that the solution is not one
attribute away. Every refusal is remembered: an answer that catches the error has imported all the same.

Not handled here: an answer that is out to deceive (see the box of the grader).
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from sys import audit
from types import ModuleType
from typing import Any

from labkit.errors import LabkitError

# what an answer may import from labkit (and from its modules, by these names)
NAMES = frozenset(
    {
        "Task", "TaskState", "StateStore", "TaskQueue", "Clock", "Checkpoint", "SagaStep", "SagaLog", "Cloud",
        "Lease", "AgentState", "StatePatch", "Fact", "Artifact", "ContextSlice", "ProgressUpdate",
        "ProgressLog", "ToolJournal", "Trace", "TraceEvent", "write_transaction", "tasks", "task_from_row",
        "RetriesExhausted", "TransientError", "TerminalError", "DeadlineExceeded", "TaskNotFound", "StaleTask",
        "StaleLease", "InvalidTransition", "UnstorableValue", "StoreBusy", "QueueFull", "CheckpointNotFound",
        "CheckpointExpired", "CheckpointCorrupt", "CheckpointNotResumable", "StaleCheckpoint", "BudgetTooSmall",
        "SagaFailed", "CompensationFailed",
    }
)  # fmt: skip
VALUES = frozenset({"labkit.agent", "labkit.agent.state"})  # of the agent, what holds no solution
HOMES = VALUES | {
    "labkit",
    *(f"labkit.{name}" for name in ("tables", "errors", "task", "clock", "store", "cloud", "database", "saga", "checkpoint")),
    *(f"labkit.{name}" for name in ("progress", "agent.journal", "invariants")),
}
PACKAGES = frozenset({"sqlalchemy", "starlette", "sse_starlette", "pydantic", "anyio"}) | sys.stdlib_module_names
MODULE = re.compile(r"labkit(?:\.\w+)+")
TYPE_CHECKING = "TYPE_CHECKING"
MAIN = ("__name__ == '__main__'", "'__main__' == __name__")
PACKAGE = Path(__file__).resolve().parents[1]

refused: list[str] = []  # while answers ran in this process, in order
SAID, ASKED = "labkit.refused", "labkit.refusals"  # audit events: something was refused; what was (see the box of the grader)


NOT_THE_SOLUTION = "from labkit an answer may use only the names in the exercise, not the library's own solution"
THESE_PACKAGES = "an answer may use the standard library, sqlalchemy, starlette, sse_starlette, pydantic and anyio"


class Forbidden(LabkitError):
    """The answer imports what an answer may not import."""


def diagnosis(why: str) -> str:
    """What a refusal says about the answer, in a few words."""
    solution = NOT_THE_SOLUTION in why
    return "imports the solution instead of writing it" if solution else "imports a module that answers may not use"


def look_at_imports(tree: ast.Module) -> None:
    """Raise `Forbidden` for an import that the source shows, also one by the name of a module in a text.

    What stands under `if TYPE_CHECKING:` or `if __name__ == "__main__":` never runs in a check; where it does all the same the import itself says no.
    """
    for node in _that_run(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                refuse(alias.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                refuse("." * node.level + (node.module or ""), alias.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "labkit":
            refuse("labkit", node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_our_module(node.value):
            refuse(node.value)


def _that_run(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:` and `if __name__ == "__main__":`."""
    waiting = deque[ast.AST]([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        left_out = node.body if isinstance(node, ast.If) and _never_true(node.test) else []
        waiting += [child for child in ast.iter_child_nodes(node) if child not in left_out]


def _never_true(test: ast.expr) -> bool:
    """Whether this is false wherever an answer is checked."""
    return TYPE_CHECKING in (getattr(test, "id", ""), getattr(test, "attr", "")) or ast.unparse(test) in MAIN


def _is_our_module(text: str) -> bool:
    if not MODULE.fullmatch(text):
        return False
    place = PACKAGE.parent.joinpath(*text.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def refuse(module: str, name: str = "") -> None:
    """Return when an answer may import this, raise `Forbidden` when it may not. `name` is what is taken from the module."""
    top = module.split(".")[0]
    if top == "labkit":
        if module in HOMES and (
            name in NAMES or name in ("", "*") or name.startswith("__") or f"{module}.{name}" in HOMES
        ):
            return
        wanted = f"{module}.{name}" if name else module
        raise Forbidden(f"the answer imports {wanted}: {NOT_THE_SOLUTION}")
    if top not in PACKAGES:
        raise Forbidden(f"the answer imports {module}: {THESE_PACKAGES}")


def load_names() -> None:
    """Have all the names at hand that answers may import, so that none has to be looked for later."""
    for home in sorted(HOMES & sys.modules.keys()):
        for name in sorted(NAMES & {*dir(sys.modules[home])}):
            getattr(sys.modules[home], name, None)


def remember(module: str, name: str = "") -> None:
    """`refuse`, for an answer that runs: what is refused is remembered."""
    try:
        refuse(module, name)
    except Forbidden as error:
        refused.append(str(error))
        audit(SAID, str(error))
        raise


def remembered() -> list[str]:
    """All that was refused in this process, also what somebody else took note of who listens to audit events."""
    told = list(refused)
    audit(ASKED, told)
    return told


class View(ModuleType):
    """A module of labkit as an answer sees it: the names of the exercises, and modules that hold some."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.__all__ = sorted(NAMES & set(dir(sys.modules[module])))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        remember(self.__name__, name)
        value = getattr(sys.modules[self.__name__], name)
        return View(value.__name__) if isinstance(value, ModuleType) else value


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """`__import__` for an answer. Only what the answer itself asks for is looked at: modules that it imports import what they like."""
    for wanted in fromlist or ("",):
        remember("." * level + name, wanted)
    ours = name in HOMES and not level
    # subtle: all names of a module of labkit are those of its view, not all that it has
    found = __import__(name, globals, locals, ["__name__"] if ours and "*" in (fromlist or ()) else fromlist, level)
    return View(found.__name__) if found.__name__ in HOMES else IMPORTLIB if found is importlib else found


def _import_module(name: str, package: str | None = None) -> ModuleType:
    """`importlib.import_module` for an answer."""
    remember(name)
    found = importlib.import_module(name, package)
    return View(found.__name__) if found.__name__ in HOMES else found


class _Importlib(ModuleType):
    """`importlib` for an answer."""

    import_module = staticmethod(_import_module)
    __import__ = staticmethod(_import)

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib, name)


IMPORTLIB = _Importlib("importlib")


def guarded_builtins() -> Mapping[str, Callable[..., Any]]:
    """Python's own names with an `__import__` that looks first; a new dictionary each time, so that nobody keeps anything in it."""
    return {**vars(builtins), "__import__": _import}
