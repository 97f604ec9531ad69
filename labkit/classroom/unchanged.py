"""What a host works with, and whether it is still the same: the functions, classes and methods of labkit and of json.

Not handled here: what is changed and put back, and objects inside of others (see `tampering`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

WATCHED = ("labkit.", "json")  # modules whose functions must stay what they are
Kept = tuple[str, Mapping[str, Any], str, Any]  # how it is told, where it stands, under which name, and what it is


def functions() -> Iterator[Kept]:
    """What must stay what it is."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith(WATCHED) and type(module) is ModuleType:
            yield from _functions_of(name, vars(module))


def _functions_of(module: str, names: dict[str, Any]) -> Iterator[Kept]:
    for name, value in list(names.items()):
        if callable(value) and not name.startswith("__"):
            yield f"{module}.{name}", names, name, value
        if isinstance(value, type) and value.__module__ == module:
            inside = vars(value)
            yield from ((f"{module}.{name}.{one}", inside, one, method) for one, method in inside.items() if callable(method) and not isinstance(method, type))


def changed(before: list[Kept]) -> str:
    """The first that is another object than it was; "" where there is none."""
    return next((told for told, where, name, value in before if where.get(name) is not value), "")
