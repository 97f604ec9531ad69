"""One client, made in one place: to an endpoint when the environment names one, to a script otherwise; what goes over the wire is seen here."""

import json
import logging
import traceback

import httpx
import openai
import pytest
import respx

from labkit.agent.model import NO_KEY, model_name, open_client
from labkit.agent.script import ScriptedModel, calls, completion, results, says
from labkit.errors import UsageError
from labkit.faults import Scenario, run_once

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


COMPLETIONS = "/v1/chat/completions"
MALFORMED = [(COMPLETIONS, b'{"messages": %s}' % odd, 400) for odd in (b"null", b'"x"', b"[1]", b"[null]", b'[{"x": 1}]', b'[{"role": 1}]', b"{}")]


@pytest.mark.parametrize(("path", "body", "status"), [("/v1/models", b"{}", 404), (COMPLETIONS, b"[", 400), (COMPLETIONS, b"[]", 400), *MALFORMED])
def test_what_is_no_chat_completion_is_refused(path, body, status):
    """As an endpoint would."""
    wire = open_client(two_tools, environ={})._client
    assert wire.post(f"http://scripted.invalid{path}", content=body).status_code == status


@pytest.mark.parametrize(("environ", "name"), [({}, "gpt-4o-mini"), ({"LABKIT_MODEL": ""}, "gpt-4o-mini"), ({"LABKIT_MODEL": "local"}, "local")])
def test_the_name_of_the_model(environ, name):
    """From the environment, or a small one."""
    assert model_name(environ) == name


SECRET = "sk-proj-nobody-may-see-this"
PROMPT = [{"role": "user", "content": "my password is swordfish"}]


@pytest.mark.parametrize("key", [f"{SECRET}\r\n{SECRET}", f"{SECRET}\u2026", f"Bearer {SECRET}", f"{SECRET}\x7f"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key):
    """Before anything is sent: on its way it would fail in an error that shows it."""
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds a character") as caught:
        open_client(environ={"OPENAI_API_KEY": key})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_what_a_file_left_around_a_key_is_no_part_of_it():
    """A line end after it, as files of another system have it; nothing but blanks is no key."""
    assert open_client(environ={"OPENAI_API_KEY": f" {SECRET}\r\n"}).api_key == SECRET
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        open_client(environ={"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": "\n"})


@pytest.mark.parametrize(
    "url",
    [f"http://me:{SECRET}@127.0.0.1:9/v1", f"http://{SECRET}@127.0.0.1:9/v1", f"http://127.0.0.1:9/v1?key={SECRET}", f"http://h/v1#{SECRET}",
     SECRET, f"127.0.0.1:9/{SECRET}", f"ftp://h/{SECRET}", f"http:///{SECRET}", f"http://h:x/{SECRET}", f"http://[{SECRET}", f"http://h/a b{SECRET}",
     f"http://h/\x01{SECRET}"],
)  # fmt: skip
@pytest.mark.parametrize("http", [None, httpx.Client()])
def test_an_address_that_would_be_logged_with_a_password_is_refused_and_not_shown(url, http):
    """Nor is what is no address at all: perhaps somebody put the key there."""
    with pytest.raises(UsageError, match="OPENAI_BASE_URL must") as caught:
        open_client(http=http, environ={"OPENAI_BASE_URL": url})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "refusal",
    [httpx.Response(401, json={"error": {"message": f"Incorrect API key provided: {SECRET}."}}), httpx.Response(403, text=f"no {SECRET}"),
     httpx.Response(400, stream=httpx.ByteStream(b'{"error": {"message": "' + SECRET.encode() + b'"}}'))],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_a_server_repeats_is_blotted_out(refusal, stream, caplog):
    """In the error, its body and its response, in the logs, and in the trace of a process that dies of it; nor is the prompt there."""
    caplog.set_level(logging.DEBUG)
    errors = []

    def body(process):
        client = open_client(http=process.http(lambda request: refusal), environ={"OPENAI_API_KEY": SECRET})
        try:
            client.chat.completions.create(model="m", messages=PROMPT, stream=stream)
        except openai.APIStatusError as error:
            errors.append((repr(error), vars(error), error.response.text, "".join(traceback.format_exception(error))))
            raise

    trace = run_once(Scenario("refused", body))
    shown = repr(errors) + caplog.text + trace.to_jsonl() + str(trace)
    assert "[key]" in shown
    assert "raised" in str(trace)
    assert SECRET not in shown
    assert "swordfish" not in shown


@pytest.mark.parametrize("written", ["sk-se\\/cret+1\\\\", "sk-se/cret\\u002b1\\\\", "sk-se/cret+1\\u005c", "\\u0073k-se/cret+1\\\\"])
def test_a_key_that_is_repeated_with_escapes_is_blotted_out(written):
    """JSON may write a key with other signs than it has; the client reads it all the same, and finds none."""
    refusing = httpx.MockTransport(lambda request: httpx.Response(401, content=b'{"error": {"message": "no: %s"}}' % written.encode()))
    with pytest.raises(openai.AuthenticationError) as caught:
        talk(open_client(http=httpx.Client(transport=refusing), environ={"OPENAI_API_KEY": "sk-se/cret+1\\"}), DEPLOY)
    assert ("[key]" in str(caught.value), "cret" in str(vars(caught.value)) + caught.value.response.text) == (True, False)


def test_many_clients_over_one_wire():
    """It is looked through once for each key."""
    wire = httpx.Client()
    for key in ("sk-one", "sk-two") * 3:
        open_client(http=wire, environ={"OPENAI_API_KEY": key})
    assert (2, False) == (len(wire.event_hooks["response"]), "sk-one" in repr(wire.event_hooks))


def test_an_answer_is_left_as_it_is():
    """Only refusals are looked through: what a model says is the conversation's, and a word as short as a careless key stands in many errors."""
    reply = lambda messages: says(f"keys look like {SECRET}")  # noqa: E731
    wire = httpx.Client(transport=httpx.MockTransport(ScriptedModel(reply)))
    client = open_client(http=wire, environ={"OPENAI_API_KEY": SECRET})
    assert talk(client, DEPLOY)["content"] == f"keys look like {SECRET}"
    refusing = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(400, json={"error": {"message": "an x too much"}})))
    with pytest.raises(openai.BadRequestError, match="an x too much"):
        talk(open_client(http=refusing, environ={"OPENAI_API_KEY": "x"}), DEPLOY)


def test_what_is_logged_at_info_is_the_address_and_the_status(caplog):
    """One line, of `httpx`."""
    caplog.set_level(logging.INFO)
    talk(open_client(two_tools, environ={}), PROMPT)
    assert caplog.messages == ['HTTP Request: POST http://scripted.invalid/v1/chat/completions "HTTP/1.1 200 OK"']
