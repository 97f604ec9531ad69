"""One run of one talk, as a judge reads it: what was asked of the model, which tools ran, what was told, what the ledger says.

Not handled here: what must hold (see `agent_rules`, `agent_call_rules` and `agent_end_rules`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.checks.agent_play import ENDED
from labkit.checks.agent_talks import Call, Talk
from labkit.checks.exercise import Finding, Seen
from labkit.cloud import Effect

Facts = dict[str, Any]
Told = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True)
class View:
    """`told` is what the last process did, {"over": True} when it had nothing to do. `clean` says that nothing disturbed the run."""

    talk: Talk
    told: Told
    effects: list[Effect]
    ends: list[str]  # the terminal updates of the whole run
    clean: bool
    process: str = ""  # the last one

    @property
    def requests(self) -> list[list[Message]]:
        return [messages for messages, _ in self.told["asked"]]

    @property
    def updates(self) -> list[list[str]]:
        """[status, task, tool] of each update, in order."""
        return [event[1:] for event in self.told["events"] if event[0] == "update"]

    @property
    def runs(self) -> list[list[Any]]:
        """[tool, arguments, key, what it gave] of each run of a tool, in order."""
        return [event[1:] for event in self.told["events"] if event[0] == "run"]

    @property
    def went_on(self) -> bool:
        """Whether this process found a conversation that another had begun."""
        return bool(self.told["found"]["messages"])

    @property
    def last_sent(self) -> list[Message]:
        """The longest conversation that the model was sent."""
        return max(self.requests, key=len, default=[])

    def happened(self) -> Counter[tuple[str, str]]:
        return Counter((effect.name, effect.target) for effect in self.effects if effect.changed)

    def settled(self) -> Counter[tuple[str, str]]:
        """(tool, arguments) of the calls that were answered, or had a result, before this process began."""
        messages, results = self.told["found"]["messages"], self.told["found"]["results"]
        answered = {message.get("tool_call_id") for message in messages if message.get("role") == "tool"} | {*results}
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        return Counter((c["function"]["name"], c["function"]["arguments"]) for c in calls if c.get("id") in answered)


def text_of(message: Message) -> str:
    """What a message says."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text")) for part in content)
    return "" if content is None else str(content)


def said(told: Told) -> str:
    """How a call ended."""
    error = told["error"]
    return f"raised {error['type']}: {error['message']}" if error else f"returned {told['value']!r}"


def same_call(call: Call, run: list[Any]) -> bool:
    """Whether a tool was run for this call."""
    return call.good and run[0] == call.tool and same_json(run[1], call.read)


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where false is not 0 and 1.0 is not 1."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def views(seen: Seen, facts: Facts) -> Iterator[View]:
    """One for each talk of a process that came to its end. One that was over before has an answer that was not called again."""
    value = seen.end.last.value if seen.kind == "end" and seen.end.last.how == "returned" else None
    effects = [effect for effect in seen.end.effects if effect.name != ENDED]
    for talk, told in zip(facts["talks"], value if isinstance(value, list) else (), strict=False):
        ends = [effect.answer for effect in seen.end.effects if (effect.name, effect.target) == (ENDED, talk.task_id)]
        yield View(talk, told, effects, ends, seen.end.token.endswith(":none"), seen.end.last.process)


Rule = Callable[[View], Finding | None]


def everywhere(rule: Rule) -> Callable[[Seen, Facts], Finding | None]:
    """A rule for every talk that came to its end, as what a property asks."""
    return lambda seen, facts: next((one for view in views(seen, facts) if (one := rule(view)) is not None), None)


def called(rule: Rule) -> Callable[[Seen, Facts], Finding | None]:
    """A rule for those in which the last process was called."""
    return everywhere(lambda view: None if view.told["over"] else rule(view))


def when(test: Callable[[View], bool]) -> Callable[[Seen, Facts], bool]:
    """Whether a call of some talk put a property to the test."""
    return lambda seen, facts: any(not view.told["over"] and test(view) for view in views(seen, facts))
