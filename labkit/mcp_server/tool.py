"""The one tool: what it takes, and what it answers, also when it refuses.

A refusal is a result that a model can read, with the newest version where the expected one was stale; a patch that is none is
refused with the first few things that are wrong with it, by path, and with no more of what was sent than the beginning
of a name.

Not handled here: applying the patch (see `agent.states`).
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from labkit.agent.arguments import faults
from labkit.agent.state import StatePatch
from labkit.errors import LabkitError, StaleState

NAME = "apply_state_patch"
_DESCRIPTION = (
    "Apply a change to the state of a task: facts, questions and artifacts are added, a plan replaces the old one. "
    "Only where the state is still at expected_version; if not, read it again and make the patch for what you find."
)
_ANSWER = {"type": "object", "properties": {"version": {"type": "integer"}}, "required": ["version"]}


class PatchArguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    agent_id: str = Field(min_length=1)
    task_id: str = Field(min_length=1)
    patch: StatePatch
    expected_version: StrictInt = Field(ge=1, description="the version that was read before this patch was made")


def tool() -> types.Tool:
    """As a client is told of it."""
    schema = PatchArguments.model_json_schema()
    return types.Tool(name=NAME, description=_DESCRIPTION, input_schema=schema, output_schema=_ANSWER)


def done(uri: str, version: int) -> types.CallToolResult:
    """The patch is in."""
    told = {"uri": uri, "version": version}
    return types.CallToolResult(content=[types.TextContent(text=json.dumps(told))], structured_content=told)


def refused(error: LabkitError | ValidationError) -> types.CallToolResult:
    """Nothing was changed, and why."""
    message = faults(error) if isinstance(error, ValidationError) else str(error)
    kind = "BadPatch" if isinstance(error, ValidationError) else type(error).__name__
    newest = {"version": error.version} if isinstance(error, StaleState) else {}
    told: dict[str, Any] = {"error": kind, "message": message, **newest}
    return types.CallToolResult(content=[types.TextContent(text=message)], structured_content=told, is_error=True)
