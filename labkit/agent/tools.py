"""A tool: what a model may call, what it takes, how much harm it can do, and whether it knows keys.

A tool gets its arguments checked and a key that is the same whenever this one call is made again, so a tool that hands the key on has its effect
once. One that cannot (`keyed=False`) is never run again blindly: if a process died while it ran, a person is asked. A read-only tool may run again
and again. The model is told names, descriptions and JSON Schemas, and nothing of risks.

Not handled here: running one (see `calls`), and who may (see `approval`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from labkit.agent.history import NAME
from labkit.agent.state import RiskLevel
from labkit.errors import UsageError
from labkit.queue.job import is_plain


class Arguments(BaseModel):
    """What a tool takes. A field that it does not name is refused, and nothing is made a number or a text that was none."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True)
class Tool:
    """A function of (arguments, key) with a name, a sentence for the model, its arguments and its risk."""

    name: str
    description: str
    run: Callable[[dict[str, Any], str], str]
    arguments: type[BaseModel]
    risk: RiskLevel
    keyed: bool = True

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise UsageError(f"a tool's name has 1 to 64 letters, digits, _ or -, not {self.name[:60]!r}")
        if self.risk not in list(RiskLevel):  # subtle: of a level that nobody knows no person would be asked
            raise UsageError(f"the risk of tool {self.name} is one of {', '.join(RiskLevel)}, not {self.risk!r:.60}")
        if not is_plain(self.run):
            raise UsageError(f"tool {self.name} runs as a plain function: what it returns is told to the model as text")
        _schema_of(self.arguments)

    def __call__(self, arguments: dict[str, Any], key: str) -> str:
        return self.run(arguments, key)

    @property
    def repeatable(self) -> bool:
        """Whether running it again changes nothing more."""
        return self.keyed or self.risk == RiskLevel.READ_ONLY

    def schema(self) -> dict[str, Any]:
        """The tool as the chat API wants to hear of it."""
        function = {"name": self.name, "description": self.description, "parameters": _schema_of(self.arguments)}
        return {"type": "function", "function": function}

    def __repr__(self) -> str:
        return f"<Tool {self.name} {self.risk}{'' if self.keyed else ' without a key'}>"


@cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    try:
        return arguments.model_json_schema()
    except Exception as error:  # a class of another kind, a field that JSON cannot hold
        raise UsageError(f"{arguments!r:.80} has no JSON Schema: {type(error).__name__}") from error


def toolbox(*tools: Tool) -> dict[str, Tool]:
    """Tools by their names; two of one name are a `UsageError`."""
    named = {tool.name: tool for tool in tools}
    if len(named) < len(tools):
        raise UsageError("two tools have one name")
    return named
