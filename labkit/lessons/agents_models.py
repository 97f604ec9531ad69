"""The models of the lesson on durable agents, as scripts, and the endpoint that stands before them.

The endpoint looks at the history first, as the chat API does, and refuses it as a whole. A script says the same to the same messages, whoever asks.

Not handled here: who asks (see `agents_world`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labkit.agent.conversation import Message, turns
from labkit.agent.history import history_faults
from labkit.agent.script import Reply, ScriptedModel, calls, results, says

if TYPE_CHECKING:
    import httpx

HOST = "web-1"
DEPLOYED = ("create_namespace", "deploy_container", "configure_route")


class Endpoint:
    """A scripted model, and before it what looks at the history as the chat API does: 400 for a call without its answer."""

    def __init__(self, reply: Reply, *, same_ids: bool = False) -> None:
        self._model, self._same_ids = ScriptedModel(reply), same_ids

    def __call__(self, request: httpx.Request) -> httpx.Response:
        import httpx

        faults = history_faults(json.loads(request.content)["messages"])
        if faults:
            return httpx.Response(400, json={"error": {"message": faults[0]}})
        said: dict[str, Any] = self._model(request).json()
        for number, call in enumerate(said["choices"][0]["message"].get("tool_calls") or (), 1):
            call["id"] = f"call_{number}" if self._same_ids else call["id"]  # some endpoints count in each message anew
        return httpx.Response(200, json=said)


def cleans(messages: list[Message]) -> Message:
    """Cleans the logs and says so; asks again as long as no call has worked."""
    worked = any(text.endswith("ready") for _, text in results(messages))
    return says("The logs of web-1 are clean.") if worked else calls(("clean_logs", {"host": HOST}))


def cleans_two(messages: list[Message]) -> Message:
    """One host in each turn, then a last word."""
    spoken = turns(messages)
    return says("Both are clean.") if spoken == 2 else calls(("clean_logs", {"host": f"web-{spoken + 1}"}))


def deploys(messages: list[Message]) -> Message:
    """Four calls in one message, and one of them is of a tool that nobody has."""
    asked = ("create_namespace", "deploy_container", "call_mother", "configure_route")
    return says("shop is up") if results(messages) else calls(*((name, {"app": "shop"}) for name in asked))


def never_ends(messages: list[Message]) -> Message:
    """Looks at the disk, and looks again."""
    return calls(("check_disk", {"host": HOST}))
