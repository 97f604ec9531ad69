"""Notices an answer that lays hands on the process it runs in, and stops it where Python lets us.

In a child that runs an answer, an audit hook sees who asks for frames, for all objects, for C, for a trace of everything, or opens the checks' files;
the modules of the checks and the simulator are reached through stand-ins that hold nothing themselves (see `standin`); and the functions and classes
that the host works with are compared, at the end, with what they were. What is found is remembered in the hook, which nobody but the interpreter holds,
and told by the host whoever catches the error. Who only looks for source lines, or for the names of the functions that called it, is told that there
are none, or the names: that costs no points.

Not handled here: an answer that reaches an object of the host by a way that Python does not tell of (`__globals__` or `__closure__` of a function that
it was handed, an attribute of a clock or a store), reads there what is wanted, or changes that alone and puts it back; a library function that looks
at frames for itself and hands one on under a name that `askers` does not know; and code that was unmarshalled by way of the import's own functions.
So this is a watchman and no wall: the wall is the box, and the witness holds what can be held again.
"""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from threading import get_ident
from types import FrameType, ModuleType
from typing import Any, NoReturn

from labkit.checks import hidden, imports
from labkit.classroom.askers import LIBRARY, PACKAGE, for_source_lines, is_answers, is_ours, stack_of
from labkit.classroom.standin import ASKS, CALL, REACH, SET, StandIn, closed
from labkit.classroom.unchanged import Kept, changed, functions

TAMPERS = "the answer lays hands on the process it runs in"
INTERRUPTS = "it interrupts whoever looks"
FRAMES = frozenset({"sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys._getframemodulename"})
OBJECTS = frozenset({"gc.get_objects", "gc.get_referrers", "gc.get_referents"})
CHANGES = frozenset({"code.__new__", "object.__setattr__", "object.__delattr__", "marshal.loads"})
PRYING = FRAMES | OBJECTS | CHANGES | {"sys.settrace", "sys.setprofile", "sys.addaudithook", "sys.unraisablehook"}
PRIED = frozenset({"tb_frame", "gi_frame", "cr_frame", "ag_frame", "gi_code", "cr_code", "ag_code", "f_back"})
OURS = ("labkit.checks", "labkit.faults", "labkit.classroom")
GATES = frozenset({REACH, SET, CALL, imports.SAID, imports.ASKED})
SEEN = PRYING | GATES | {"object.__getattr__", "open", "compile"}
PRIVATE = tuple(f"{PACKAGE}{name}{os.sep}" for name in ("checks", "faults", "classroom"))


def watch() -> None:
    """From now on in this process and all that are forked from it; there is no way back."""
    watchman = Watchman()
    watchman.close()
    watchman.before = list(functions())
    for name, module in list(sys.modules.items()):
        if name.startswith(OURS):
            sys.modules[name] = watchman.stand_in(module)
    for name in OURS:
        parent, _, last = name.rpartition(".")
        if name in sys.modules:
            setattr(sys.modules[parent], last, sys.modules[name])
    watchman.kept.append(sys.modules["__main__"])
    if str(getattr(sys.modules["__main__"], "__file__", "")).startswith(PACKAGE):
        sys.modules["__main__"] = ModuleType("__main__")  # what we were started with is nobody's business
    sys.addaudithook(watchman.look)


class Watchman:
    """The audit hook and what it knows. Nobody holds it but the interpreter."""

    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.before: list[Kept] = []
        self.kept: list[Any] = []
        self.real: dict[int, tuple[StandIn, ModuleType]] = {}  # by the identity of the one that stands in
        self.calls: dict[str, Any] = {}
        self._passes: set[int] = set()  # threads that look at a frame for us
        self._own = Watchman._asker.__code__

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        """In nearly every call there is nothing to say, and that is said soon."""
        if event not in SEEN and not event.startswith("ctypes."):
            return
        if event == "object.__getattr__" and (type(arguments[1]) is not str or arguments[1] not in PRIED):
            return
        me = get_ident()
        if event == "sys._getframe" and me in self._passes:
            self._passes.discard(me)
            return
        asker = self._asker(me)
        if asker is None:
            return
        if asker.f_code is self._own:  # subtle: our own question, and somebody has used its pass
            self.refuse(INTERRUPTS)
        if event in GATES:
            self._pass_on(event, arguments, asker)
        else:
            self._look_at(event, arguments, asker)

    def _asker(self, me: int) -> FrameType | None:
        """The frame that raised the event which `look` looks at. One question of ours goes unasked meanwhile, and no other."""
        self._passes.add(me)
        try:
            frame = sys._getframe()
        except BaseException:  # subtle: a signal came in between, and may have used our pass
            self.refusals.append(f"{TAMPERS}: {INTERRUPTS}")
            raise
        finally:
            self._passes.discard(me)
        look = frame.f_back
        return look.f_back if look is not None else None

    def refuse(self, what: str) -> NoReturn:
        """Remember that the answer did this, and stop it."""
        why = f"{TAMPERS}: {what}"
        self.refusals.append(why)
        imports.refused.append(why)
        raise imports.Forbidden(why)

    def _look_at(self, event: str, arguments: tuple[Any, ...], asker: FrameType) -> None:
        if event == "open":
            self._look_at_file(_text(arguments[0]), asker)
        elif event == "object.__getattr__":
            if is_answers(asker, arguments[1]):
                self.refuse(f"it looks at {arguments[1]}")
        elif event == "compile":
            if _text(arguments[1]).startswith(LIBRARY) and not asker.f_code.co_filename.startswith(LIBRARY) and is_answers(asker):
                self.refuse("it compiles code under another's name")
        elif is_answers(asker, event.rpartition(".")[2] if event in FRAMES | OBJECTS else ""):
            self.refuse(f"it uses {event}")

    def _look_at_file(self, name: str, asker: FrameType) -> None:
        path = os.path.abspath(name) if name else ""
        if not (path.startswith((*PRIVATE, "/proc/")) or path == "/proc") or not is_answers(asker, "getline", deep=True):
            return
        if path.startswith(PRIVATE) and for_source_lines(asker):
            raise FileNotFoundError(2, "No such file or directory", path)
        self.refuse(f"it opens {Path(path).name}")

    def _pass_on(self, event: str, arguments: tuple[Any, ...], asker: FrameType) -> None:
        """What is only to be had from here, by way of an event."""
        if event == imports.SAID:
            self.refusals.append(_text(arguments[0]))
        elif event == imports.ASKED:
            self._compare()
            list.extend(arguments[0], self.refusals)
        elif event == CALL:
            key, args, options, box = arguments
            box.append(self.calls[key](*args, **options))
        else:
            self._reach(*arguments, asker=asker.f_back if asker.f_code in ASKS else asker)

    def _reach(self, stand_in: Any, name: Any, *rest: Any, asker: FrameType | None) -> None:
        """An attribute of a module that something stands in for: read into a list, or set."""
        _, module = self.real.get(id(stand_in), (None, None))
        if module is None or type(name) is not str:
            raise AttributeError("there is no such module")
        ours = is_ours(asker)
        if name == "__dict__" and not ours and asker is not None and not asker.f_code.co_filename.startswith(LIBRARY):
            self.refuse(f"it reaches into {module.__name__}")
        if not ours and (len(rest) > 1 or not name.startswith("__")):
            self.refuse(f"it reaches into {module.__name__}")
        if len(rest) > 1:
            setattr(module, name, rest[1])
            return
        rest[0].append(getattr(module, name) if ours else _harmless(module, name))

    def stand_in(self, module: ModuleType) -> StandIn:
        """What stands in for this module from now on."""
        made = StandIn(module.__name__)
        self.real[id(made)] = (made, module)
        return made

    def close(self) -> None:
        """Behind what an answer is given of ours nothing can be found: it asks here."""
        names = ("__init__", "__getattr__", "create_module")
        for owner in (imports.View, imports._Importlib, hidden.TripWire, hidden._Loader):
            for name in set(names) & vars(owner).keys():
                setattr(owner, name, self._closed(f"{owner.__name__}.{name}", vars(owner)[name]))
        imports._import = self._closed("__import__", imports._import)
        import_module = self._closed("import_module", imports._import_module)
        imports._Importlib.import_module = staticmethod(import_module)
        imports._Importlib.__import__ = staticmethod(imports._import)
        inspect.stack = self._closed("stack", _stack)

    def _closed(self, key: str, function: Any) -> Any:
        self.calls[key] = function
        return closed(key)

    def _compare(self) -> None:
        """Remember what is another object than it was."""
        if found := changed(self.before):
            self.refusals.append(f"{TAMPERS}: {found} is not what it was")


def _stack(context: int = 1) -> list[Any]:
    """`inspect.stack` for whoever called the closed function in front of it."""
    return stack_of(sys._getframe(4))


def _harmless(module: ModuleType, name: str) -> Any:
    """What Python's own tools read of any module, and nothing that leads into it."""
    if name == "__class__":
        return ModuleType
    if name == "__dict__":
        return {}
    value = getattr(module, name)
    if callable(value) or isinstance(value, dict):
        raise AttributeError(name)
    return value


def _text(given: object) -> str:
    """A text that is nothing but a text, whatever class it had; "" for what is none."""
    if isinstance(given, bytes):
        return os.fsdecode(bytes(memoryview(given)))
    return str.__str__(given) if isinstance(given, str) else ""
