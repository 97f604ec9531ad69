"""What in an answer a person should look at: who reaches for the notebook, the process, frames, modules, files, the checks, or is equal to everything.

Names are followed through imports, `as` and `getattr` with a text. One flag for each kind of thing, with the first places. A flag is no proof and takes no
points, and who wants to hide from this list can: the source is read and never run.

Not handled here: keeping an answer from doing it (see `box`), and noticing that it was done (see `hidden`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from labkit.checks.cells import parse, place
from labkit.checks.texts import printable
from labkit.classroom.submission import Flag

# dotted names, and all that stands below those that end in a dot: kind -> names
REACHED = {
    "notebook": "get_ipython IPython. ipykernel.",
    "checks": "labkit.check labkit.checks. labkit.lab. labkit.faults. labkit.classroom. labkit.invariants. pytest. _pytest. hypothesis. nbval.",
    "process": (
        "exit quit SystemExit sys.exit os._exit os.abort os.kill os.killpg os.fork os.forkpty os.system os.popen os.posix_spawn os.execv os.execve "
        "signal. subprocess. multiprocessing. atexit."
    ),
    "frames": (
        "sys._getframe sys._current_frames sys.settrace sys.setprofile sys.addaudithook threading.settrace threading.setprofile inspect.currentframe "
        "inspect.stack inspect.trace gc.get_objects gc.get_referrers gc.get_referents ctypes."
    ),
    "modules": "sys.modules sys.meta_path sys.path_hooks sys.path importlib.reload unittest.mock. builtins. __builtins__",
    "files": "open io.open os.open os.remove os.unlink os.listdir os.scandir os.walk os.environ os.getenv shutil. glob.",
    "network": "socket. urllib.request. http.client. requests. httpx.",
    "text as code": "eval exec compile __import__ importlib.import_module runpy. pickle. marshal. code.",
}
# attributes that tell on any object: kind -> names
TELLING = {
    "notebook": "showtraceback do_execute run_cell user_ns",
    "frames": "f_back f_globals f_locals f_builtins tb_frame gi_frame cr_frame ag_frame __globals__ __closure__ __code__ __subclasses__ __builtins__",
    "files": "read_text write_text read_bytes write_bytes",
}
# why a person should look: kind -> what it may be for
WHY = {
    "notebook": "may reach the notebook that runs it",
    "checks": "may reach the checks that judge it",
    "process": "may end, start or signal a process",
    "frames": "may look into the code that calls it",
    "modules": "may change modules that others use",
    "files": "may read or write files of others",
    "network": "may talk to another machine",
    "text as code": "may load what answers may not import",
    "always equal": "may pass for whatever it is compared with",
}
COMPARES = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
LONGEST = 8  # parts of a dotted name
SHOWN = 3  # places of one kind

_NAMES = {name: kind for kind, names in REACHED.items() for name in names.split()}
_ATTRIBUTES = {name: kind for kind, names in TELLING.items() for name in names.split()}
Reason = tuple[str, str]  # the kind, and what it is


def look(source: str) -> tuple[Flag, ...]:
    """A flag for each kind of thing to look at, with what it may be for, sorted by kind. What does not parse is none of ours: the check says so."""
    tree = parse(source)
    known = _imported(tree) if tree else {}
    found: dict[str, dict[str, int]] = {}
    for node in ast.walk(tree) if tree else ():
        for kind, what in _why(node, known):
            at = found.setdefault(kind, {})
            at[what] = min(getattr(node, "lineno", 1), at.get(what, len(source) + 1))
    return tuple(Flag(kind, f"{_told(found[kind], source)}: {WHY[kind]}") for kind in sorted(found))


def _told(at: Mapping[str, int], source: str) -> str:
    places = [f"{what} ({place(source, line)})" for what, line in sorted(at.items(), key=lambda one: (one[1], one[0]))]
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return printable(" ".join((", ".join(places[:SHOWN]) + more).split()))


def _imported(tree: ast.Module) -> dict[str, str]:
    """What the names that are imported anywhere in a source stand for, dotted."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module or ''}.{alias.name}" for alias in node.names}
    return known


def _why(node: ast.AST, known: Mapping[str, str]) -> Iterator[Reason]:
    if isinstance(node, ast.Import):
        yield from (reason for alias in node.names for reason in _reached(alias.name))
    elif isinstance(node, ast.ImportFrom):
        yield from (reason for alias in node.names for reason in _reached(f"{node.module or ''}.{alias.name}"))
    elif isinstance(node, ast.Name | ast.Attribute | ast.Call):
        # subtle: `code`, `requests` or `signal` is a module only where it was imported
        yield from _reached(_dotted(node, known), imported=_root(node) in known)
        yield from _patched(node, known)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("labkit."):
        yield from _reached(node.value)
    elif isinstance(node, ast.ClassDef):
        yield from (("always equal", f"{node.name}.{name}") for name in _constant(node))


def _reached(name: str, *, imported: bool = True) -> Iterator[Reason]:
    """What a dotted name reaches for, if it is one of the list."""
    parts = name.split(".")
    last = parts[-1]
    if name in _NAMES and (imported or len(parts) == 1):
        yield _NAMES[name], name
    elif imported and (below := next((top for n in range(1, len(parts) + 1) if (top := ".".join(parts[:n]) + ".") in _NAMES), "")):
        yield _NAMES[below], name
    elif len(parts) > 1 and last in _ATTRIBUTES:
        yield _ATTRIBUTES[last], f".{last}"


def _dotted(node: ast.AST, known: Mapping[str, str]) -> str:
    """`a.b.c` as it is meant: through imports, and through getattr(a, "b"). "" for anything else; what stands before a call or an index is "?"."""
    parts: list[str] = []
    while len(parts) < LONGEST:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif (text := _got(node)) and isinstance(node, ast.Call):
            parts.append(text)
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.Name):
        parts.append(known.get(node.id, node.id))
    elif parts:
        parts.append("?")
    return ".".join(reversed(parts))


def _got(node: ast.AST) -> str:
    """The name in `getattr(x, "name")`, "" for anything else."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) > 1):
        return ""
    name = node.args[1]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""


def _patched(node: ast.AST, known: Mapping[str, str]) -> Iterator[Reason]:
    """An attribute of something imported that is set or deleted, also by setattr and delattr."""
    target: ast.AST | None = None
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        target = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr") and node.args:
        target = node.args[0]
    if target is not None and _root(target) in known:
        yield "modules", f"changes {known[_root(target)]}"


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes and getattr begins with, "" for none; a chain without end has none."""
    for _ in range(LONGEST):
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and _got(node):
            node = node.args[0]
        else:
            break
    return node.id if isinstance(node, ast.Name) else ""


def _constant(owner: ast.ClassDef) -> Iterator[str]:
    """The comparisons of a class that never look at what they are compared with."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name in COMPARES and not _looks(node.args, node.body):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and not _looks(node.value.args, [node.value.body]):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name) and target.id in COMPARES)


def _looks(given: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> bool:
    """Whether a comparison reads its second parameter, or leaves the question to the other side."""
    names = [one.arg for one in (*given.posonlyargs, *given.args)][1:] + [one.arg for one in (given.vararg,) if one]
    used = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return bool(used & {*names, "NotImplemented"})
