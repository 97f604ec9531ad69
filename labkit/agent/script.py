"""A model that is a function: it says the same to the same messages, whoever asks and however often.

It stands where an endpoint would stand, behind the same client and the same wire format. A reply is a pure function of the conversation, so an agent
that is killed and goes on from its journal gets the answer that it would have got. Ids of calls count the calls of the conversation,
so they differ from each other and are the same on every run. Asked with `stream`, it says the same in pieces.

Not handled here: a model's mood. For another answer to the same messages, write another function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx

from labkit.agent.conversation import Message

Reply = Callable[[list[Message]], Message]  # the conversation -> the assistant's next message
CHARS_PER_TOKEN = 4  # a rule of thumb; only an endpoint knows its own count
PIECE = 12  # characters of a text that is sent in pieces


def says(text: str) -> Message:
    """A final answer."""
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, Mapping[str, Any]]) -> Message:
    """A message that asks for tools, as (name, arguments) each."""
    asked = [_call(name, json.dumps(arguments)) for name, arguments in wanted]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def _call(name: str, arguments: str) -> Message:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """(tool, what it gave) for each call that was answered, in the order of the answers."""
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        if message["role"] == "assistant"
        for call in message.get("tool_calls") or ()
    }
    return [(names.get(m["tool_call_id"], ""), m["content"]) for m in messages if m["role"] == "tool"]


class ScriptedModel:
    """Answers chat completions by calling `reply`: an `httpx` handler, for a `MockTransport` or a process of the simulator."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """The response to one request; what is no chat completion is answered as an endpoint would, with 400 or 404."""
        if not request.url.path.endswith("/chat/completions"):
            return _refused(404, f"there is no {request.url.path}")
        try:
            asked = json.loads(request.content)
            messages = asked["messages"]
            if not isinstance(messages, list) or not all(isinstance(one["role"], str) for one in messages):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            return _refused(400, "the body must be JSON with `messages`")
        said = completion(self._reply(messages), messages, str(asked.get("model", "")))
        if not asked.get("stream"):
            return httpx.Response(200, json=said)
        with_usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        return httpx.Response(200, content=streamed(said, with_usage), headers={"content-type": "text/event-stream"})


def completion(message: Message, messages: Sequence[Message], model: str) -> dict[str, Any]:
    """A chat completion that holds this message."""
    made = sum(len(m.get("tool_calls") or ()) for m in messages if m["role"] == "assistant")
    asked = [
        {"id": f"call_{made + place}", **call} for place, call in enumerate(message.get("tool_calls") or (), start=1)
    ]
    said = {**message, **({"tool_calls": asked} if asked else {})}
    sent, got = (len(json.dumps(part)) // CHARS_PER_TOKEN for part in (list(messages), said))
    return {
        "id": f"completion_{len(messages)}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "tool_calls" if asked else "stop", "message": said}],
        "usage": {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got},
    }


def streamed(said: Mapping[str, Any], with_usage: bool) -> bytes:
    """A completion as server-sent events, piece by piece; put together again they say the same."""
    choice = said["choices"][0]
    parts = [(delta, None) for delta in _deltas(choice["message"])] + [({}, choice["finish_reason"])]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in parts
    ]
    if with_usage:
        chunks.append({"choices": [], "usage": said["usage"]})
    head = {name: said[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    events = [json.dumps(head | chunk) for chunk in chunks] + ["[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


def _deltas(message: Message) -> Iterator[dict[str, Any]]:
    """What each piece of a message adds to those before it."""
    yield {"role": "assistant", "content": None if message.get("content") is None else ""}
    for piece in _pieces(message.get("content") or ""):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _refused(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message, "type": "invalid_request_error"}})
