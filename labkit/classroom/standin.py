"""What a stranger finds in the place of something of ours: a thing with nothing in it that asks the audit hook for all it has.

A stand-in for a module, and a function that is closed, hold a name and no more, so that neither `vars` nor a closure, a copy or `object.__getattribute__`
leads behind them. What they ask for is an audit event with a list for the reply; the hook decides by who asks.

Not handled here: who is told what (see `tampering`).
"""

from __future__ import annotations

from collections.abc import Callable
from sys import audit
from types import FunctionType, ModuleType
from typing import Any

REACH, SET, CALL = "labkit.reach", "labkit.set", "labkit.call"


class StandIn(ModuleType):
    """Stands in `sys.modules` for a module of ours, in which we find all that is there."""

    # subtle: what these two use are constants and defaults, which nobody changes unnoticed
    def __getattribute__(self, name: str, ask: Callable[..., None] = audit) -> Any:
        box: list[Any] = []
        ask("labkit.reach", self, name, box)
        return box[0]

    def __setattr__(self, name: str, value: Any, ask: Callable[..., None] = audit) -> None:
        ask("labkit.set", self, name, None, value)


ASKS = frozenset({StandIn.__getattribute__.__code__, StandIn.__setattr__.__code__})


def closed(key: str) -> Callable[..., Any]:
    """A function that does what the hook does for this key."""
    ask, event = audit, CALL

    def call(*args: Any, **options: Any) -> Any:
        box: list[Any] = []
        ask(event, key, args, options, box)
        return box[0]

    return FunctionType(call.__code__, {}, key, None, call.__closure__)
