"""One client, made in one place: to an endpoint when the environment names one, to a script otherwise; what goes over the wire is seen here."""

import json
import logging

import httpx
import openai
import pytest
import respx

from labkit.agent.model import NO_KEY, model_name, open_client
from labkit.agent.script import calls, completion, results, says
from labkit.errors import UsageError

DEPLOY = [{"role": "user", "content": "deploy shop"}]


def two_tools(messages):
    """Asks for two tools at once, then for one, then ends."""
    got = len(results(messages))
    if got == 0:
        return calls(("look", {"at": "disk"}), ("look", {"at": "logs"}))
    return calls(("clean", {})) if got == 2 else says(f"done after {got}")


def talk(client, messages):
    """One request, and the message that came, as a journal keeps it."""
    reply = client.chat.completions.create(model="any", messages=messages)
    return reply.choices[0].message.model_dump(mode="json", exclude_none=True)


def answered(messages, said):
    return [*messages, said, *({"role": "tool", "tool_call_id": c["id"], "content": "ok"} for c in said["tool_calls"])]


def test_without_an_endpoint_the_script_answers():
    """To its end; every call of the conversation has an id of its own, and the same messages get the same answer."""
    client, messages = open_client(two_tools, environ={}), DEPLOY
    for ids in (["call_1", "call_2"], ["call_3"]):
        said = talk(client, messages)
        assert [call["id"] for call in said["tool_calls"]] == ids
        assert talk(client, messages) == said
        messages = answered(messages, said)
    assert talk(client, messages) == {"role": "assistant", "content": "done after 3"}


def test_without_endpoint_and_script_one_line_says_what_to_do():
    """No client that would go to the network by itself."""
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        open_client(environ={})


@pytest.mark.parametrize(
    ("environ", "url", "key"),
    [
        ({"OPENAI_API_KEY": "sk-1"}, "https://api.openai.com/v1", "sk-1"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1", "sk-1"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1", NO_KEY),
    ],
)
def test_what_goes_over_the_wire(environ, url, key, caplog):
    """The right address and key, once even when it fails; the script is not asked; and the key is in no log line and no `repr`."""
    caplog.set_level(logging.DEBUG)
    with respx.mock as wire:
        route = wire.post(f"{url}/chat/completions").mock(
            side_effect=[httpx.Response(200, json=completion(says("hello"), DEPLOY, "m")), httpx.Response(503)]
        )
        client = open_client(two_tools, environ=environ)
        assert talk(client, DEPLOY)["content"] == "hello"
        with pytest.raises(openai.InternalServerError):
            talk(client, DEPLOY)
    assert [call.request.headers["authorization"] for call in route.calls] == [f"Bearer {key}"] * 2
    assert json.loads(route.calls[0].request.content)["messages"] == DEPLOY
    assert "sk-1" not in caplog.text + repr(client)


@pytest.mark.parametrize(("path", "body", "status"), [("/v1/models", b"{}", 404), ("/v1/chat/completions", b"[", 400), ("/v1/chat/completions", b"[]", 400)])
def test_what_is_no_chat_completion_is_refused(path, body, status):
    """As an endpoint would."""
    wire = open_client(two_tools, environ={})._client
    assert wire.post(f"http://scripted.invalid{path}", content=body).status_code == status


@pytest.mark.parametrize(("environ", "name"), [({}, "gpt-4o-mini"), ({"LABKIT_MODEL": ""}, "gpt-4o-mini"), ({"LABKIT_MODEL": "local"}, "local")])
def test_the_name_of_the_model(environ, name):
    """From the environment, or a small one."""
    assert model_name(environ) == name
