"""The model of `agent`: the official client, and behind its wire an endpoint that says what a talk says and refuses what a real one refuses.

A history that the chat API would not take is answered with 400, whatever is asked in it. Each request is told, as it was sent. Unless ids must be
the same in each run, no call gets an id that another had, not even when the model is asked anew after a crash: a real one gives new ones too.

Not handled here: what the model says (see `agent_talks`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from labkit.checks.agent_fields import faults_of
from labkit.checks.agent_talks import Talk, Turn
from labkit.faults.process import Process

if TYPE_CHECKING:
    import httpx
    import openai

MOST_ASKED = 60  # requests of one process in one talk; who asks more often never ends
Message = dict[str, Any]


@cache
def parts() -> tuple[Any, Any, Any]:
    """What takes long to load, and must be there before the solutions are hidden: `httpx`, `open_client` and `ScriptedModel`."""
    import httpx as httpx_

    import labkit.faults.model_answers  # noqa: F401  # a process speaks HTTP by it
    from labkit.agent.model import open_client
    from labkit.agent.script import ScriptedModel

    client = open_client(lambda messages: {"role": "assistant", "content": "warm"}, environ={})
    client.chat.completions.create(model="warm", messages=[{"role": "user", "content": "warm"}])
    return httpx_, open_client, ScriptedModel


def warm() -> None:
    """Load all that, where it is installed (see `run` for where it is not)."""
    with suppress(ImportError):
        parts()


def alive(process: Process) -> None:
    """Return while the process lives: what reaches the world without a crossing must not do so after its death."""
    if process.gate.dead:
        process.gate.refuse()


class Model:
    """The endpoint of one talk. `asked` gets each request as (its messages, the names of the tools that it tells of)."""

    def __init__(self, talk: Talk, process: Process, asked: list[list[Any]], *, same_ids: bool) -> None:
        self._talk, self._process, self._asked, self._same_ids = talk, process, asked, same_ids
        self._failed = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        httpx_, _, scripted = parts()
        alive(self._process)
        if len(self._asked) >= MOST_ASKED:
            self._process.gate.stop("endless")
        messages = self._heard(request)
        faults = faults_of(messages)
        if faults:
            return _refused(httpx_, 400, faults[0])
        turn = self._turn(messages)
        if turn.fails and not (turn.once and self._failed):
            self._failed = True
            return self._fail(httpx_, turn.fails, request)
        made: httpx.Response = scripted(self._reply)(request)
        return made

    def _heard(self, request: httpx.Request) -> list[Message]:
        body = json.loads(request.content)
        messages: list[Message] = body["messages"]
        told = [tool.get("function") or {} for tool in body.get("tools") or () if tool.get("type") == "function"]
        self._asked.append([messages, [str(function.get("name")) for function in told]])
        return messages

    def _turn(self, messages: list[Message]) -> Turn:
        spoken = sum(message.get("role") == "assistant" for message in messages)
        return self._talk.turns[min(int(spoken), len(self._talk.turns) - 1)]

    def _reply(self, messages: list[Message]) -> Message:
        turn = self._turn(messages)
        said: Message = {"role": "assistant", "content": turn.text}
        if turn.calls:
            first = self._first_id(messages, len(turn.calls))
            said["tool_calls"] = [
                {
                    "id": f"call_{self._talk.name}_{first + place}",
                    "type": "function",
                    "function": {"name": call.tool, "arguments": call.arguments},
                }
                for place, call in enumerate(turn.calls)
            ]
        return said

    def _first_id(self, messages: list[Message], wanted: int) -> int:
        if self._same_ids:
            return sum(len(message.get("tool_calls") or ()) for message in messages) + 1
        counter = self._process.world.files_folder / "calls_named"
        named = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(named + wanted))
        return named + 1

    def _fail(self, httpx_: Any, kind: str, request: httpx.Request) -> httpx.Response:
        if kind == "refused":
            raise httpx_.ConnectError("nobody listens", request=request)
        if kind == "timeout":
            raise httpx_.ReadTimeout("no answer", request=request)
        return _refused(httpx_, int(kind), "the model cannot answer")


def _refused(httpx_: Any, status: int, message: str) -> httpx.Response:
    made: httpx.Response = httpx_.Response(status, json={"error": {"message": message, "type": "refused"}})
    return made


def client_for(process: Process, answer: Callable[[httpx.Request], httpx.Response], *, gated: bool) -> openai.OpenAI:
    """The official client, over the process's wire or, not `gated`, over one on which no fault can strike."""
    httpx_, open_client, _ = parts()
    wire = process.http(answer) if gated else httpx_.Client(transport=httpx_.MockTransport(answer))
    made: openai.OpenAI = open_client(http=wire, environ={})
    return made
