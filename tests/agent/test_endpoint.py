"""A real server behind the client: the same answers as the script gives, no key that is not its own, and what each trouble looks like."""

from __future__ import annotations

import json
import logging

import httpx
import openai
import pytest

from labkit.agent.model import NO_KEY, open_client
from tests.agent.stub_server import deploys

SECRET = "sk-a-real-key-that-nobody-may-see"
ASK = [{"role": "user", "content": "deploy shop, my password is swordfish"}]


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """A machine whose own environment is full of keys, and of a proxy."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {SECRET}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def talk(client, messages, model="any"):
    reply = client.chat.completions.create(model=model, messages=messages)
    return reply.choices[0].message.model_dump(mode="json", exclude_none=True)


def conversation(client):
    """All of it, to the message that asks for nothing."""
    messages = ASK
    while True:
        said = talk(client, messages)
        messages = [*messages, said]
        if "tool_calls" not in said:
            return messages
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in said["tool_calls"]]


@pytest.fixture
def trouble(stub_server):
    """The error that comes of an endpoint with this trouble."""

    def ask(name, **more):
        with pytest.raises((openai.OpenAIError, ValueError)) as caught:
            talk(open_client(environ={"OPENAI_BASE_URL": stub_server("by_model"), **more}), ASK, name)
        return caught.value

    return ask


def test_the_same_conversation_as_with_the_script(stub_server):
    """A base URL alone is enough, and everything that is said is the same, to its end."""
    there = conversation(open_client(environ={"OPENAI_BASE_URL": stub_server("deploys")}))
    assert conversation(open_client(deploys, environ={})) == there
    assert [message["role"] for message in there] == ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("more", [{}, {"stream_options": {"include_usage": True}}])
def test_the_same_pieces_as_with_the_script(stub_server, more):
    """Also where the answer comes in pieces, which say together what the whole answer says."""
    pieces = []
    for client in (open_client(environ={"OPENAI_BASE_URL": stub_server("deploys")}), open_client(deploys, environ={})):
        stream = client.chat.completions.create(model="any", messages=ASK, stream=True, **more)
        pieces.append([piece.to_dict() for piece in stream])
    assert pieces[0] == pieces[1]
    assert bool(more) == ("usage" in pieces[0][-1])
    arguments = {0: "", 1: ""}
    for piece in pieces[0]:
        for choice in piece["choices"]:
            for call in choice["delta"].get("tool_calls", ()):
                arguments[call["index"]] += call["function"]["arguments"]
    whole = talk(client, ASK)["tool_calls"]
    assert [call["function"]["arguments"] for call in whole] == list(arguments.values())


@pytest.mark.parametrize(("own", "sent"), [({}, NO_KEY), ({"OPENAI_API_KEY": "my-own-key"}, "my-own-key")])
def test_no_key_but_its_own_goes_over_the_wire(stub_server, own, sent):
    """Whatever the environment of the machine holds: only what `environ` says is sent."""
    client = open_client(environ={"OPENAI_BASE_URL": stub_server("by_model"), **own})
    came = json.loads(talk(client, ASK, "headers")["content"])
    assert came["authorization"] == f"Bearer {sent}"
    assert SECRET not in str(came)


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("unauthorized", openai.AuthenticationError, "Error code: 401 - Incorrect API key provided: [key]"),
        ("rate_limited", openai.RateLimitError, "Error code: 429 - slow down"),
        ("server_error", openai.InternalServerError, "Error code: 500"),
        ("garbage", json.JSONDecodeError, "Expecting value: line 1 column 14 (char 13)"),
        ("half", openai.APIConnectionError, "Connection error."),
        ("hangs_up", openai.APIConnectionError, "Connection error."),
    ],
)
def test_what_a_trouble_looks_like(trouble, caplog, name, error, told):
    """The error of each, which shows no key and no prompt; neither do the logs, whatever their level."""
    caplog.set_level(logging.DEBUG)
    seen = trouble(name, OPENAI_API_KEY=SECRET)
    assert (error, told) == (type(seen), str(seen))
    shown = caplog.text + repr(seen) + repr(vars(seen)) + repr(seen.__cause__)
    assert SECRET not in shown + getattr(getattr(seen, "response", None), "text", "")
    assert "swordfish" not in shown


def test_what_else_a_trouble_says(trouble):
    """How long to wait can be read; a connection that breaks is told as such below the client's error."""
    assert trouble("rate_limited").response.headers["retry-after"] == "7"
    for name in ("half", "hangs_up"):
        assert type(trouble(name).__cause__) is httpx.RemoteProtocolError


def test_a_page_in_the_place_of_an_answer(stub_server):
    """The client hands on text that is no JSON as it is: not an error, and no completion either."""
    client = open_client(environ={"OPENAI_BASE_URL": stub_server("by_model")})
    said = client.chat.completions.create(model="a_page", messages=ASK)
    assert said == "<h1>Welcome</h1>"
