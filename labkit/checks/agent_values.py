"""Agent states, patches and slices of an answer as plain data, so that a judge elsewhere can read them.

A model of the library is told by its fields, whatever class the answer derived from it; all else is told by its type, so a dictionary never passes for a
fact. A state that raises when it is read shows whether an answer lets an exit through.

Not handled here: what the values should be (see `patch_rules` and `context_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from pydantic import BaseModel

from labkit.agent.state import AgentState
from labkit.checks.common import try_exits
from labkit.checks.exercise import Answer, Finding, Seen
from labkit.faults.process import Process, plain

HOME = AgentState.__module__
READ = ("__dict__", "__copy__", "__deepcopy__", "__getstate__", "__reduce_ex__")  # the ways to read a whole object
_leaves: list[Callable[[], NoReturn]] = []  # while this holds one, a `_Leaving` state raises when it is read


class _Leaving(AgentState):
    def __getattribute__(self, name: str) -> Any:
        if _leaves and (name in READ or not name.startswith("_")):
            _leaves[0]()
        return super().__getattribute__(name)


def told(value: Any) -> Any:
    """A value as plain data. A model is {"is": its name, field: value, ...}, a list or a tuple is a list."""
    if isinstance(value, BaseModel):
        kind = next((base for base in type(value).__mro__ if base.__module__ == HOME), None)
        if kind is not None and issubclass(kind, BaseModel):
            return {"is": kind.__name__, **{name: told(getattr(value, name, None)) for name in kind.model_fields}}
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if isinstance(value, dict):  # subtle: a dictionary that says {"is": "Fact"} is no fact
        return {"type": "dict", "repr": repr(value)[:200]}
    return plain(value)


def is_model(data: Any, kind: str) -> bool:
    """Whether plain data tells of a model of the library, and not only of something with its name."""
    return isinstance(data, dict) and data.get("is") == kind


def why_odd(data: dict[str, Any], sections: dict[str, str]) -> str:
    """Why these fields of a told model are no lists of what they should hold ("" for texts), or "" when they are."""
    for name, kind in sections.items():
        if not isinstance(data[name], list):
            return f"{name} is no list"
        if not all(is_model(item, kind) if kind else isinstance(item, str) for item in data[name]):
            return f"{name} holds something else than {kind or 'texts'}"
    return ""


def differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The fields in which two told models differ."""
    return [name for name in before if before[name] != after[name]]


def rows_of(seen: Seen, facts: dict[str, Any]) -> Iterable[tuple[Any, dict[str, Any]]]:
    """Each row of a case with what came of it, as far as the run came."""
    return zip(facts["rows"], seen.end.last.value or (), strict=False)


def gave(kind: str) -> Callable[[Seen, dict[str, Any]], bool]:
    """For a property's `exercised`: whether at least one call gave such a model."""
    return lambda seen, facts: any(is_model(came["ended"].get("value"), kind) for _, came in rows_of(seen, facts))


def as_wanted(off: Callable[[Any, dict[str, Any]], Finding | None], what: str) -> Callable[[Seen, dict[str, Any]], Finding | None]:
    """For a property's `find`: the first row of which `off` says why its end is not what it wants."""

    def find(seen: Seen, facts: dict[str, Any]) -> Finding | None:
        if seen.end.last.how != "returned":
            return Finding(f"the run {seen.end.last}", f"fails where it should return {what}")
        found = (off(row, came["ended"]) for row, came in rows_of(seen, facts))
        return next((one for one in found if one), None)

    return find


def afresh(find: Callable[[Seen, dict[str, Any]], Finding | None]) -> Callable[[Seen, dict[str, Any]], Finding | None]:
    """For a property's `find`: the same of calls in one process that have nothing to do with each other."""

    def told(seen: Seen, facts: dict[str, Any]) -> Finding | None:
        found = find(seen, facts)
        return found and Finding(f"several calls in one process, {found.message}", "keeps something from one call to the next")

    return told


def each(
    name: str, one: Callable[[Callable[..., Any], Any, Process], Any], rows: Sequence[Any], *, afresh: bool = True
) -> Callable[[Answer], list[Callable[[Process], Any]]]:
    """A `Case.build`: `one(function, row, process)` for each row; `afresh` with the answer executed anew, so that no row sees what another left."""

    def build(answer: Answer) -> list[Callable[[Process], Any]]:
        def play(process: Process) -> Any:
            kept = answer.fresh()[name]
            return [one(answer.fresh()[name] if afresh else kept, row, process) for row in rows]

        return [play]

    return build


def leaving(call: Callable[[AgentState], Any]) -> list[list[Any]]:
    """Call with a state out of which nothing but an exit comes, once for each kind of exit; for `exits_rule`."""

    def reading(leave: Callable[..., NoReturn]) -> Any:
        state = _Leaving(goal="g")
        _leaves.append(leave)
        try:
            return call(state)
        finally:
            _leaves.clear()

    return try_exits(reading)
