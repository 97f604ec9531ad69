"""The URI of a state: one for each agent and task, whatever their ids hold, and back to exactly these ids.

Each id is one segment, percent-encoded as UTF-8. A URI that is no address of a state is `UsageError`.

Not handled here: whether there is a state (see `agent.states`).
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from labkit.errors import UsageError
from labkit.store.contract import storable_text

TEMPLATE = "state://agents/{agent_id}/tasks/{task_id}"
_SEGMENT = r"((?:[^/?#%]|%[0-9A-Fa-f]{2})+)"
_ADDRESS = re.compile(f"state://agents/{_SEGMENT}/tasks/{_SEGMENT}")
_LONGEST_TOLD = 100  # characters of a URI that an error repeats


def uri_of(agent_id: str, task_id: str) -> str:
    """The address of a state."""
    return TEMPLATE.format(agent_id=quote(agent_id, safe=""), task_id=quote(task_id, safe=""))


def ids_of(uri: str) -> tuple[str, str]:
    """Agent and task; also of a URI that encodes more than it must. `UsageError` for any other."""
    found = _ADDRESS.fullmatch(uri)
    if found is None:
        told = storable_text(uri if len(uri) <= _LONGEST_TOLD else f"{uri[:_LONGEST_TOLD]}...")
        raise UsageError(f"{told!r} is no address of a state: those are {TEMPLATE}, each id percent-encoded")
    try:
        agent_id, task_id = (unquote(part, errors="strict") for part in found.groups())
    except UnicodeDecodeError:
        raise UsageError("the percent-encoded bytes of an id must be UTF-8") from None
    return agent_id, task_id
