"""What must hold of `context`, read off the slices: their bytes as they are sent, which items they hold, and in which order.

Not handled here: the rows (see `context_cases`), and running them (see `context`).
"""

from __future__ import annotations

from typing import Any

from labkit.agent.state import ContextSlice
from labkit.checks.agent_values import afresh, as_wanted, gave, is_model, rows_of, told, why_odd
from labkit.checks.context_cases import Row, sent
from labkit.checks.exercise import Finding, Seen
from labkit.faults.outcome import cut
from labkit.plural import counted

SECTIONS = {"artifacts": "Artifact", "facts": "Fact", "open_questions": ""}
IN_THE_STATE = {"artifacts": "artifacts", "facts": "known_facts", "open_questions": "open_questions"}
OTHER_STEP = "takes artifacts of other steps"


def _off(row: Row, ended: dict[str, Any]) -> Finding | None:
    """Why this is not what the row wants, or None."""
    begins = f"{row.says}, {row.max_bytes} bytes allowed"
    if "error" in ended:
        return _raised(row, ended["error"], begins)
    got = ended["value"]
    odd = _malformed(got)
    if odd:
        return Finding(f"{begins}: the call returned {_short(got)}", odd)
    if row.wanted is None:
        return Finding(f"{begins}: goal and step alone need more, and the call returned a slice", row.more)
    wrong = _head(row, got) or _foreign(row, got)
    if wrong:
        return Finding(f"{begins}: {wrong[0]}", wrong[1])
    return _other_items(row, got, begins)


chose = gave("ContextSlice")
wanted_of_each = as_wanted(_off, "a slice")
each_afresh = afresh(wanted_of_each)


def _raised(row: Row, error: dict[str, Any], begins: str) -> Finding | None:
    small = "BudgetTooSmall" in error["bases"]
    if row.wanted is None and small:
        return None
    said = f"{begins}: the call raised {error['type']}: {error['message']}"
    if row.wanted is None:
        return Finding(said, "goal and step alone do not fit, and no BudgetTooSmall tells so")
    empty = not (row.wanted.artifacts or row.wanted.facts or row.wanted.open_questions)
    fits = "raises BudgetTooSmall though goal and step fit"
    return Finding(said, (row.less if empty else fits) if small else "fails where it should return a slice")


def _malformed(got: Any) -> str:
    """Why this is no slice at all, "" when it is one."""
    if not is_model(got, "ContextSlice"):
        return "returns no ContextSlice"
    return why_odd(got, SECTIONS)


def _head(row: Row, got: dict[str, Any]) -> tuple[str, str] | None:
    for name, wanted in (("goal", row.state.goal), ("current_step", row.step)):
        if got[name] != wanted:
            return f"{name} is {_short(got[name])}, and not {_short(wanted)}", f"the {name} is another one, or is cut"
    return None


def _foreign(row: Row, got: dict[str, Any]) -> tuple[str, str] | None:
    """Items that the state does not hold, or not for this step, or not that often."""
    whole = told(row.state)
    for name, kept in IN_THE_STATE.items():
        there = list(whole[kept])
        for item in got[name]:
            if item not in whole[kept]:
                return f"{name} holds {_short(item)}, which the state does not", "cuts or changes an item"
            if item not in there:
                return f"{name} holds {_short(item)} once too often", "takes an item twice"
            there.remove(item)
    other = [item for item in got["artifacts"] if item["step"] != row.step]
    return (f"{other[0]['artifact_id']} was made by step {other[0]['step']!r}", OTHER_STEP) if other else None


def _other_items(row: Row, got: dict[str, Any], begins: str) -> Finding | None:
    """Items left out, more of them, or in another order."""
    wanted = told(row.wanted)
    both = (wanted["facts"], wanted["facts"][::-1])
    wrong = [name for name in SECTIONS if got[name] not in (both if name == "facts" else (wanted[name],))]
    if not wrong:
        return None
    name, size = wrong[0], _size(got)
    if size > row.max_bytes:
        return Finding(f"{begins}: the slice has {size}: {_sections(got)}", row.more)
    if _unordered(got[name]) == _unordered(wanted[name]):
        order = "in the state's order or newest first" if name == "facts" else "in the state's order"
        return Finding(
            f"{begins}: {name} are {_names(got[name])}, and not {_names(wanted[name])}", f"{name} do not stand {order}"
        )
    lists = f"{name} are {_names(got[name])}, and not {_names(wanted[name])}"
    return Finding(f"{begins}: {lists}; the slice has {counted(size, 'byte')}", row.less)


def _unordered(items: list[Any]) -> list[str]:
    return sorted(map(repr, items))


def _size(got: dict[str, Any]) -> int:
    """The bytes of a slice as it is sent; its items are those of the state."""

    def made(data: Any) -> Any:
        if isinstance(data, list):
            return [made(item) for item in data]
        return {name: made(value) for name, value in data.items() if name != "is"} if isinstance(data, dict) else data

    return sent(ContextSlice.model_validate(made(got)))


def unchanged(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The state is no other one after the call."""
    for row, came in rows_of(seen, facts):
        if came["changed"]:
            return Finding(
                f"{row.says}: {came['changed'][0]} of the state is another one after the call", "changes the state"
            )
    return None


def in_short(ended: dict[str, Any]) -> str:
    """What came of a row, for whoever looks at the run."""
    if "error" in ended:
        return str(ended["error"]["type"])
    got = ended["value"]
    return _short(got) if _malformed(got) else _sections(got) or "goal and step alone"


def _sections(got: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_names(got[name])}" for name in SECTIONS if got[name])


def _names(items: list[Any]) -> str:
    """Items by what tells them apart."""
    if len(items) > 6:
        return counted(len(items), "item")
    return f"[{', '.join(_name(item) for item in items)}]"


def _name(item: Any) -> str:
    if is_model(item, "Fact"):
        return cut(f"{item['key']}={item['value']}", 30)
    return str(item["artifact_id"]) if isinstance(item, dict) else cut(repr(item), 30)


def _short(value: Any) -> str:
    return cut(repr(value), 60)
