"""From a piece of source to the names an exercise asks for, or one clear line that says why not.

The source is looked at before it runs: does it parse, does it define the name, is it still the stub, does it import only what an answer may. It is then executed in a
namespace of its own, anew for every process. Which cells of a notebook belong to an answer is decided here too: the one with the anchor `# labkit: <id>`, and
those before it that define what it uses.

Not handled here: limits on time and memory (see `host`).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.checks.exercise import Answer, Exercise
from labkit.errors import LabkitError, UsageError

MOST_BYTES = 1_000_000
ANCHOR = re.compile(r"^\s*#\s*labkit:\s*([A-Za-z0-9_-]+)\s*$")

# what an answer may import from labkit (and from its modules, by these names)
NAMES = frozenset(
    """Task TaskState StateStore TaskQueue Clock Checkpoint SagaStep SagaLog Cloud Lease AgentState StatePatch Fact Artifact ContextSlice
    ProgressUpdate ProgressLog ToolJournal Trace TraceEvent write_transaction tasks task_from_row RetriesExhausted TransientError TerminalError
    DeadlineExceeded TaskNotFound StaleTask StaleLease InvalidTransition UnstorableValue StoreBusy QueueFull CheckpointNotFound CheckpointExpired
    CheckpointCorrupt CheckpointNotResumable StaleCheckpoint BudgetTooSmall SagaFailed CompensationFailed""".split()
)
HOMES = frozenset({"labkit", "labkit.tables", "labkit.errors", "labkit.task", "labkit.clock", "labkit.store", "labkit.cloud", "labkit.database"})
PACKAGES = frozenset({"sqlalchemy", "starlette", "sse_starlette", "pydantic", "anyio"}) | sys.stdlib_module_names


class NotAttempted(LabkitError):
    """The stub is untouched."""


class Forbidden(LabkitError):
    """The answer imports what an answer may not import."""


def read(path: str, exercise: str) -> str:
    """The answer's source from a .py file or a notebook. Raises `UsageError`."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MOST_BYTES * (20 if file.suffix == ".ipynb" else 1):
        raise UsageError(f"{path} is too large for an answer")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    return from_notebook(text, exercise, path) if file.suffix == ".ipynb" else text


def from_notebook(text: str, exercise: str, path: str) -> str:
    """The cell with the anchor, after the cells that define what it uses."""
    try:
        book = json.loads(text)
        cells = [_source(cell) for cell in book["cells"] if cell.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} is not a notebook") from None
    marked = [index for index, cell in enumerate(cells) if anchor_of(cell) == exercise]
    if not marked:
        raise UsageError(f"{path} has no cell that begins with `# labkit: {exercise}`")
    return with_what_it_uses(cells[marked[-1]], cells[: marked[-1]])


def _source(cell: Mapping[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def anchor_of(source: str) -> str | None:
    """The id in the first line `# labkit: <id>`, or None."""
    first = source.lstrip().split("\n", 1)[0]
    match = ANCHOR.match(first)
    return match.group(1) if match else None


def with_what_it_uses(answer: str, earlier: Sequence[str]) -> str:
    """The answer with those earlier cells in front that define a name it uses, directly or through another one."""
    needed = _used(answer)
    chosen: list[str] = []
    for cell in reversed(earlier):
        defined = _defined(cell)
        if defined & needed and anchor_of(cell) is None:
            chosen.insert(0, _definitions_only(cell))
            needed = (needed - defined) | _used(cell)  # an older definition of the same name is not wanted any more
    return "\n\n".join([*chosen, answer])


def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _used(source: str) -> set[str]:
    tree = _tree(source)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()


def _defined(source: str) -> set[str]:
    tree = _tree(source)
    names: set[str] = set()
    for node in tree.body if tree else []:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
    return names


def _definitions_only(source: str) -> str:
    """A cell without its calls: what it defines is wanted, not what it shows. Imports of labkit's notebook helpers stay behind."""
    tree = _tree(source)
    if tree is None:
        return source
    kept = [node for node in tree.body if not isinstance(node, ast.Expr)]
    for node in kept:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "labkit":
            node.names = [alias for alias in node.names if alias.name in NAMES]
    kept = [node for node in kept if not (isinstance(node, ast.ImportFrom) and not node.names)]
    return ast.unparse(ast.Module(kept, []))


def look(source: str, exercise: Exercise) -> None:
    """Look at an answer without running it. Raises `UsageError`, `NotAttempted` or `Forbidden`."""
    if "\0" in source or len(source) > MOST_BYTES:
        raise UsageError("the answer is not Python source")
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UsageError(f"the answer does not parse: {error.msg}, line {error.lineno}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UsageError("the answer does not parse") from None
    stubs = {name: _is_stub(tree, name) for name in exercise.signatures}
    if any(stubs.values()):
        raise NotAttempted(f"{', '.join(name for name, stub in stubs.items() if stub)} is still the stub")
    for module, name in _imports(tree):
        refuse(module, name)


def _is_stub(tree: ast.Module, name: str) -> bool:
    """Whether the definition of `name` still has nothing but `...` in it."""
    found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name]
    if not found:
        return False
    body = found[-1].body
    if isinstance(found[-1], ast.ClassDef):
        methods = [node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return bool(methods) and all(_nothing(method.body) for method in methods) or not methods and _nothing(body)
    return _nothing(body)


def _nothing(body: Sequence[ast.stmt]) -> bool:
    rest = [node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))]
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ... for node in rest)


def _imports(tree: ast.Module) -> list[tuple[str, str]]:
    """(module, name) of every import and of every `labkit.name` in the source."""
    found: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "labkit":
            found.append(("labkit", node.attr))
    return found


def refuse(module: str, name: str) -> None:
    """Return when an answer may import this, raise `Forbidden` when it may not."""
    top = module.split(".")[0]
    if top != "labkit":
        if top not in PACKAGES and module != "__future__":
            raise Forbidden(f"the answer imports {module}: an answer may use the standard library, sqlalchemy, starlette, sse_starlette, pydantic and anyio")
        return
    whole = module in HOMES and (name in NAMES or name in ("", "tables", "errors"))
    if not whole:
        wanted = f"{module}.{name}" if name else module
        raise Forbidden(f"the answer imports {wanted}: from labkit an answer may use only the names in the exercise, not the library's own solution")


def _guarded_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    # only what the answer itself asks for is looked at: modules that it imports import what they like
    for wanted in fromlist or ("",):
        refuse(name, wanted)
    return __import__(name, globals, locals, fromlist, level)


def load(source: str, exercise: Exercise) -> Answer:
    """The answer, ready to run. Executes it once; raises `UsageError` when that fails or the signature is another."""
    code = compile(source, f"<answer to {exercise.id}>", "exec", dont_inherit=True)
    guarded = {**vars(builtins), "__import__": _guarded_import}

    def execute() -> dict[str, Any]:
        module = types.ModuleType("answer")
        sys.modules["answer"] = module  # dataclasses and pickle look a class's module up
        module.__dict__["__builtins__"] = guarded
        exec(code, module.__dict__)  # noqa: S102  (running the answer is what a check is for)
        return module.__dict__

    try:
        names = execute()
    except Forbidden:
        raise
    except Exception as error:
        raise UsageError(f"the answer fails while it loads: {type(error).__name__}: {str(error)[:200]}") from None
    except BaseException as error:
        raise UsageError(f"the answer ends the process while it loads ({type(error).__name__})") from None
    for name, parameters in exercise.signatures.items():
        _check_signature(names, name, parameters)
    return Answer(execute)


def _check_signature(names: Mapping[str, Any], name: str, parameters: Sequence[str]) -> None:
    """A parameter that starts with `*` in `parameters` is given by name, the others by place."""
    wanted = f"{name}({', '.join(parameters)})"
    if name not in names:
        raise UsageError(f"the answer does not define {wanted}")
    if not callable(names[name]):
        raise UsageError(f"{name} is not a function: the exercise asks for {wanted}")
    places = [p for p in parameters if not p.startswith("*")]
    try:
        signature = inspect.signature(names[name])
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*places, **{p[1:]: p for p in parameters if p.startswith("*")})
    except TypeError as error:
        raise UsageError(f"{name} has another signature than the exercise's {wanted}: {error}") from None
