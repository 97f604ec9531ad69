"""What must hold of `patch`, read off what came of each row: the new state, and whether the old one and the patch are what they were.

Not handled here: the rows (see `patch_cases`), and running them (see `patch`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.agent_values import afresh, as_wanted, differing, is_model, rows_of, told, why_odd
from labkit.checks.exercise import Finding, Seen
from labkit.checks.patch_cases import EMPTY_TEXT, EXACT, IN_ORDER, LONG, NONE_IS_A_PLAN, Row
from labkit.checks.patch_lists import STAY_OPEN
from labkit.faults.outcome import cut
from labkit.plural import counted

MODELS = {"known_facts": "Fact", "artifacts": "Artifact"}
IN_THE_PATCH = {
    "plan": "plan",
    "known_facts": "facts",
    **{name: name for name in ("open_questions", "artifacts", "risk_flags")},
}
SECTIONS = {name: MODELS.get(name, "") for name in IN_THE_PATCH}  # the lists of a state, and what they hold
REST = ("goal", "constraints", "budget")  # of a state, that no patch speaks of
REPLACED = "a new value takes the place of the old one"
MOST_SHOWN = 6  # items of a list in a message


def _off(row: Row, ended: dict[str, Any]) -> Finding | None:
    """Why this is not what the row wants, or None."""
    if "error" in ended:
        said = f"{row.says}: the call raised {ended['error']['type']}: {ended['error']['message']}"
        return Finding(said, "fails where it should return a state")
    got, wanted = ended["value"], told(row.wanted)
    if not is_model(got, "AgentState"):
        return Finding(f"{row.says}: the call returned {_short(got)}", "returns no AgentState")
    odd = why_odd(got, SECTIONS)
    wrong = differing(wanted, got)
    if odd or not wrong:
        return Finding(f"{row.says}: the call returned a state whose {odd}", odd) if odd else None
    name = wrong[0]
    said = f"{row.says}: {name} {_is(got[name])}, and not {_shown(wanted[name])}"
    return Finding(said, _which(row, name, got[name], wanted[name]))


def rest_alone(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Goal, constraints and budget are those of the old state. What else became of a row is no matter here."""
    for row, came in rows_of(seen, facts):
        got, old = came["ended"].get("value"), told(row.state)
        wrong = [name for name in REST if got[name] != old[name]] if is_model(got, "AgentState") else []
        if wrong:
            name = wrong[0]
            said = f"{row.says}: {name} {_is(got[name])}, and not {_shown(old[name])}"
            return Finding(said, f"changes {name}, of which the patch does not speak")
    return None


def applied(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether at least one call gave a state, and another one than the old: who never applies a patch shows nothing."""
    return any(is_model(came["ended"].get("value"), "AgentState") and came["ended"]["value"] != told(row.state) for row, came in rows_of(seen, facts))


wanted_of_each = as_wanted(_off, "a state")
each_afresh = afresh(wanted_of_each)


def _which(row: Row, name: str, got: Any, wanted: Any) -> str:
    """The likely mistake: what the lists show by themselves, else what the row is there to show."""
    old, change = told(row.state)[name], getattr(row.patch, IN_THE_PATCH.get(name, "plan"))
    if name not in IN_THE_PATCH or not (
        change or (name == "open_questions" and row.patch.answered) or (name == "plan" and change is not None)
    ):
        return NONE_IS_A_PLAN if name == "plan" else f"changes {name}, of which the patch does not speak"
    if name in MODELS and len(got) == len(wanted) and got != wanted and _keys(got) == _keys(wanted):
        return "what was there is replaced by what comes: it should stay as it was"
    if row.why.endswith(IN_ORDER) and sorted(map(repr, got)) != sorted(map(repr, wanted)):
        if not any(item in got for item in old):
            return f"{name} of the patch replaces the old one instead of being added"
        if got == old:
            return f"{name} of the patch is not applied"
        if len(got) < len(wanted) and all(item in got for item in old):
            return f"only a part of {name} of the patch is applied"
    shown = _shown_by_the_items(row, name, got, wanted)
    if shown:
        return shown
    moved = name != "plan" and sorted(map(repr, got)) == sorted(map(repr, wanted)) and not row.why.endswith(IN_ORDER)
    return f"what is there already in {name} does not keep its place" if moved else row.why


def _shown_by_the_items(row: Row, name: str, got: list[Any], wanted: list[Any]) -> str:
    """What the items themselves show, whatever the row is there for; "" where they show nothing."""
    if row.why == LONG:
        return ""
    if name == "known_facts":
        there = {(item["key"], item["value"]) for item in got}
        lost = [fact.key for fact in row.state.known_facts if (fact.key, fact.value) not in there]
        if lost:
            return REPLACED if any(key == lost[0] for key, _ in there) else "a fact that is known is lost"
    missing = [item for item in wanted if item not in got]
    if row.why == STAY_OPEN and not any(text in got for text in row.patch.answered):
        return "an answer closes other questions too" if missing else row.why
    if row.why == EXACT and "" in missing and not any(text.strip() for text in missing):
        return EMPTY_TEXT
    return ""


def _keys(items: list[dict[str, Any]]) -> list[Any]:
    return [(item.get("key"), item.get("value"), item.get("artifact_id")) for item in items]


def unchanged(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Neither the old state nor the patch is another one after the call."""
    for row, came in rows_of(seen, facts):
        for what, before, after in came["changed"]:
            wrong = differing(before, after)
            if wrong:
                name = wrong[0]
                said = f"{row.says}: {name} of {what} {_is(after[name])} afterwards, and was {_shown(before[name])}"
                return Finding(said, f"changes {what}")
    return None


def twice(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The patch applied to the new state gives the new state once more."""
    for row, came in rows_of(seen, facts):
        once, again = came["ended"], came["again"]
        if again is None:
            continue
        if "error" in again or not is_model(again["value"], "AgentState"):
            ended = f"raised {again['error']['type']}" if "error" in again else f"returned {_short(again['value'])}"
            return Finding(f"{row.says}: applied a second time, the call {ended}", "cannot be applied twice")
        wrong = differing(once["value"], again["value"])
        if wrong:
            name = wrong[0]
            said = f"{row.says}, applied a second time: {name} {_is(again['value'][name])}, and was {_shown(once['value'][name])}"
            return Finding(said, "a patch that comes twice is not applied once")
    return None


def in_short(row: Row, ended: dict[str, Any]) -> str:
    """What came of a row, for whoever looks at the run: the fields that are others than before."""
    if "error" in ended:
        return str(ended["error"]["type"])
    got, old = ended["value"], told(row.state)
    if not is_model(got, "AgentState"):
        return _short(got)
    return "; ".join(f"{name} {_shown(got[name])}" for name in differing(old, got)) or "the same state"


def _is(value: Any) -> str:
    return f"is {_shown(value)}"


def _shown(value: Any) -> str:
    """A field as a reader can take it in: facts as key=value, of a long list only its length."""
    if not isinstance(value, list):
        return _short(value)
    if len(value) > MOST_SHOWN:
        return counted(len(value), "item")
    return f"[{', '.join(_item(item) for item in value)}]"


def _item(item: Any) -> str:
    if is_model(item, "Fact"):
        return f"{item['key']}={item['value']}" + (f" ({item['source']})" if item["source"] else "")
    return f"{item['artifact_id']} ({item['summary']})" if is_model(item, "Artifact") else _short(item)


def _short(value: Any) -> str:
    return cut(repr(value), 60)
