"""One question to an endpoint: a message that can be kept, or an error of the right kind, in which nothing stands of question, answer or key."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

from labkit.agent.history import history_faults
from labkit.agent.model import open_client
from labkit.agent.tools import Arguments
from labkit.agent.turn import Turn, ask_model
from labkit.clock import VirtualClock
from labkit.errors import LabkitError, ModelRefused, ModelUnavailable
from labkit.task import TaskState
from tests.agent.runs import Bench, tool
from tests.agent.stub_server import ANSWERS, deploys

KEY = "sk-a-real-key-that-nobody-may-see"
ASKED = [{"role": "user", "content": "deploy shop, my password is swordfish"}]
JUNK: list[Any] = [None, [], {}, 1, True, 1.5, "x", [[]], [None], {"a": 1}, "\ud800\x00", 10**30]
TROUBLES = {
    "unauthorized": (ModelRefused, "answered 401"),
    "repeats": (ModelRefused, "answered 400"),
    "rate_limited": (ModelUnavailable, "answered 429"),
    "server_error": (ModelUnavailable, "answered 500"),
    "breaks_and_repeats": (ModelUnavailable, "answered 500"),
    "garbage": (ModelUnavailable, "did not answer: JSONDecodeError"),
    "too_deep": (ModelUnavailable, "did not answer: RecursionError"),
    "half": (ModelUnavailable, "did not answer: APIConnectionError"),
    "hangs_up": (ModelUnavailable, "did not answer: APIConnectionError"),
    "empty": (ModelUnavailable, "without a message: IndexError"),
    "a_page": (ModelUnavailable, "without a message: AttributeError"),
}


class Place(Arguments):
    """Where to look, if anywhere."""

    at: str = ""


def secrets_in(shown: str) -> list[str]:
    """What must not be there: the key, the question, the endpoint's own words."""
    return [secret for secret in (KEY, "swordfish", "slow down", "it broke", "Welcome", "choices") if secret in shown]


def everything(error: BaseException) -> str:
    """All that can be read off an error and what it came of."""
    told = [error, error.__cause__, error.__context__]
    return "".join(f"{one} {one!r} {vars(one) if one else ''}" for one in told) + "".join(traceback.format_exception(error))


@pytest.mark.parametrize("name", TROUBLES)
def test_troubles(stub_server: Callable[[str], str], sqlite: Engine, clock: VirtualClock, caplog: pytest.LogCaptureFixture, name: str) -> None:
    """Of each: the class that says whether asking again may help, and no secret in the error, behind it, in the logs, in the task or in its progress."""
    kind, told = TROUBLES[name]
    caplog.set_level(logging.DEBUG)
    client = open_client(environ={"OPENAI_BASE_URL": stub_server("by_model"), "OPENAI_API_KEY": KEY})
    with pytest.raises(LabkitError) as caught:
        ask_model(client, name, ASKED, [], number=1, seconds=20)
    error = caught.value
    assert (kind, True, None, None) == (type(error), told in str(error), error.__cause__, error.__context__)
    bench = Bench(sqlite, clock)
    agent = replace(bench.agent(deploys, {}, model=name), client=client)
    task = bench.run(agent, ASKED[0]["content"], max_attempts=1)
    assert (TaskState.FAILED, True) == (task.state, told in (task.error or ""))
    progress = "".join(f"{update.message}" for update in bench.told(task.id))
    assert [] == secrets_in(everything(error).replace(str(ASKED), "") + caplog.text + str(task.error) + progress + repr(agent))


def test_every_trouble_of_the_stub_is_tried() -> None:
    """None is forgotten here."""
    assert set(ANSWERS) == {*TROUBLES, "deploys", "headers", "by_model"}


def asked(body: Any, status: int = 200, **headers: str) -> Turn | LabkitError:
    """What comes of an endpoint that answers this."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = httpx.Response(status, content=content, headers={"content-type": "application/json", **headers})
    client = open_client(http=httpx.Client(transport=httpx.MockTransport(lambda request: response)), environ={})
    try:
        return ask_model(client, "any", ASKED, [], number=2, seconds=5)
    except (ModelUnavailable, ModelRefused) as error:
        return error


def completion(message: Any, **more: Any) -> dict[str, Any]:
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "any", "choices": [{"index": 0, "message": message}], **more}


def calling(**function: Any) -> dict[str, Any]:
    return completion({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "n", "arguments": "{}"} | function}]})


PLACES: dict[str, Callable[[Any], Any]] = {
    "body": lambda junk: junk,
    "choices": lambda junk: completion({}) | {"choices": junk},
    "choice": lambda junk: completion({}) | {"choices": [junk]},
    "message": completion,
    "content": lambda junk: completion({"role": "assistant", "content": junk}),
    "refusal": lambda junk: completion({"role": "assistant", "content": None, "refusal": junk}),
    "tool_calls": lambda junk: completion({"role": "assistant", "content": "x", "tool_calls": junk}),
    "tool_call": lambda junk: completion({"role": "assistant", "content": "x", "tool_calls": [junk]}),
    "name": lambda junk: calling(name=junk),
    "arguments": lambda junk: calling(arguments=junk),
    "usage": lambda junk: completion({"role": "assistant", "content": "x"}, usage=junk),
    "total_tokens": lambda junk: completion({"role": "assistant", "content": "x"}, usage={"total_tokens": junk}),
}


@pytest.mark.parametrize("place", PLACES)
def test_junk_in_any_place(place: str) -> None:
    """It is a message that can be kept and sent again, with a cost that can be counted, or it is no answer."""
    for junk in JUNK:
        turn = asked(PLACES[place](junk))
        if isinstance(turn, Turn):
            answers = [{"role": "tool", "tool_call_id": call["id"], "content": ""} for call in turn.message.get("tool_calls", ())]
            assert not history_faults([*ASKED, turn.message, *answers])
            json.dumps(turn.message, ensure_ascii=False).encode()
            assert 0 < turn.tokens < 2**31
        else:
            assert (ModelUnavailable, None, None) == (type(turn), turn.__cause__, turn.__context__)


@pytest.mark.parametrize(
    ("status", "kind"),
    [*product([408, 409, 429, 500, 502, 503, 529], [ModelUnavailable]), *product([302, 400, 401, 403, 404, 413, 422], [ModelRefused])],
)
def test_statuses(status: int, kind: type[LabkitError]) -> None:
    """What may pass, and what will never change."""
    error = asked({}, status)
    assert (kind, f"the model's endpoint answered {status}") == (type(error), str(error))


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        *[("7", 7.0), ("0.5", 0.5), ("-1", 0.0), ("soon", 0.0), ("nan", 0.0), ("", 0.0)],
        *[("Fri, 09 Jan 2026 17:00:30 GMT", 30.0), ("Fri, 09 Jan 2026 16:00:30 GMT", 0.0)],
    ],
)
@pytest.mark.parametrize("date", ["Fri, 09 Jan 2026 17:00:00 GMT", "today", None])
def test_how_long_to_wait(retry_after: str, seconds: float, date: str | None) -> None:
    """Seconds, or an instant on the endpoint's own clock; without one an instant says nothing, and nonsense says nothing either."""
    error = asked({}, 429, **{"retry-after": retry_after}, **({"date": date} if date else {}))
    assert isinstance(error, ModelUnavailable)
    assert (0.0 if retry_after.startswith("Fri") and date in (None, "today") else seconds) == error.retry_after


@pytest.mark.parametrize("said", [None, "", " \n\t "])
def test_nothing_said(said: str | None) -> None:
    """A message without a word and without a call is no answer."""
    error = asked(completion({"role": "assistant", "content": said}))
    assert (ModelUnavailable, "the model said nothing") == (type(error), str(error))


@pytest.mark.parametrize("choices", [[], None, [{"index": 0}], [{"index": 0, "message": {"tool_calls": [{"type": "custom"}]}}]])
@pytest.mark.parametrize(("usage", "tokens"), [({"total_tokens": 5_000}, 5_000), (None, 0), ({"total_tokens": "x"}, 0), ([], 0)])
def test_what_an_answer_without_a_message_has_cost(choices: Any, usage: Any, tokens: int) -> None:
    """What the endpoint says that it was; it is paid for like any other."""
    error = asked(completion({}) | {"choices": choices, "usage": usage})
    assert (ModelUnavailable, tokens) == (type(error), getattr(error, "tokens", None))


def ended(reason: Any, message: Any, **more: Any) -> Turn | LabkitError:
    body = completion({"role": "assistant", **message}, **more)
    body["choices"][0]["finish_reason"] = reason
    return asked(body)


CALL = {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "n", "arguments": "{}"}}]}


@pytest.mark.parametrize("message", [{"content": "the password is"}, {"content": None}, CALL | {"content": "swordfish"}])
@pytest.mark.parametrize(
    ("reason", "kind", "told"),
    [
        ("length", ModelUnavailable, "the model's answer was cut at its longest length (length)"),
        ("content_filter", ModelRefused, "the model's endpoint has filtered the answer out (content_filter)"),
    ],
)
def test_an_answer_that_did_not_come_to_its_end(message: Any, reason: str, kind: type[LabkitError], told: str) -> None:
    """It is no answer, and none of its calls is made: a cut one is asked for again, a filtered one is not; what it cost is known."""
    error = ended(reason, message, usage={"total_tokens": 77})
    assert (kind, told, 77) == (type(error), str(error), getattr(error, "tokens", None))
    assert (kind, True) == (type(ended(reason, message)), ended(reason, message).tokens > 0)


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", None, "", 5, [], "length "])
def test_other_ends(reason: Any) -> None:
    """Whatever else an endpoint gives as the reason, the answer counts."""
    assert isinstance(ended(reason, CALL | {"content": "done"}), Turn)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "text", "text": "web-1 "}, {"type": "text", "text": "is clean"}], "web-1 is clean"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "done"}, {"type": "text", "text": None}, None, 5], "done"),
        ([{"type": "refusal", "refusal": "I may not"}], "I may not"),
        (["web-1 ", "is clean"], "web-1 is clean"),
        ([{"type": "image_url", "image_url": {}}], None),
        ([], None),
    ],
)
def test_an_answer_in_parts(parts: list[Any], text: str | None) -> None:
    """Its texts are joined; one without a text is no answer."""
    turn = asked(completion({"role": "assistant", "content": parts}))
    assert (text or "the model said nothing") == (turn.message["content"] if isinstance(turn, Turn) else str(turn))


def test_what_a_turn_says_of_itself() -> None:
    """What the model said stays out of logs."""
    assert "password" not in repr(asked(completion({"role": "assistant", "content": "your password is swordfish"})))


def test_an_interrupt_goes_through() -> None:
    """It is no trouble of the endpoint."""

    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    client = open_client(http=httpx.Client(transport=httpx.MockTransport(interrupted)), environ={})
    with pytest.raises(KeyboardInterrupt):
        ask_model(client, "any", ASKED, [], number=1, seconds=5)


def test_the_same_run_as_with_the_script(stub_server: Callable[[str], str], sqlite: Engine, clock: VirtualClock) -> None:
    """Against a real endpoint the whole agent has the same effects under the same keys, and writes the same journal to the same progress."""
    bench = Bench(sqlite, clock)
    found = []
    for number, client in enumerate((open_client(deploys, environ={}), open_client(environ={"OPENAI_BASE_URL": stub_server("deploys")}))):
        made: list[tuple[str, str]] = []

        def run(given: dict[str, Any], key: str, made: list[tuple[str, str]] = made) -> str:
            made.append((given["at"], key.partition(":")[2]))
            return "ok, \u00fcber alles"

        tools = {name: replace(tool(run, name), arguments=Place) for name in ("look", "clean")}
        task = bench.run(replace(bench.agent(deploys, tools), client=client), f"deploy {number}")
        told = [(update.step, update.status, update.message, update.tool) for update in bench.told(task.id)]
        found.append((task.state, task.result, bench.messages(task.id)[1:], told, made, [(fact.key, fact.value) for fact in bench.state(task.id).known_facts]))
    assert found[0] == found[1]
    assert (TaskState.COMPLETED, 3) == (found[0][0], len(found[0][4]))
