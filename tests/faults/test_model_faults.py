"""The faults of a model call, seen through the official client: what comes, whether the model was asked, and where such a fault strikes nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import openai
import pytest

from labkit.agent.model import open_client
from labkit.agent.script import Message, ScriptedModel, calls, says
from labkit.faults import Process, Scenario, Trace, open_world, run_once, search, sweep
from labkit.faults.fault import ANSWERS
from labkit.faults.runner import MOVED, UNREACHED, Runner
from labkit.faults.schedule import Schedule
from labkit.faults.search import FAULTS

CHAT = "POST /v1/chat/completions"
ASK = [{"role": "user", "content": "deploy shop"}]
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("look", "no_such_tool")]
FAULT = {kind: f"{kind}(30)" if kind == "rate_limited" else kind for kind in ANSWERS}
SPOILS = ["malformed_arguments", "unknown_tool", "empty"]
ODD = [httpx.Response(200, text=text) for text in ("[]", '{"choices": []}', '{"choices": 1}', '{"choices": [1]}', "{", "\ufffd")]
ODD.append(httpx.Response(503, json={"choices": [{"message": {}}]}))


def looks(messages: list[Message]) -> Message:
    """Asks for two tools."""
    return calls(("look", {"at": "disk"}), ("look", {"at": "logs"}))


def talks(messages: list[Message]) -> Message:
    """Asks for none."""
    return says("There is nothing to be done, and this is a long way to say it.")


@dataclass
class Seen:
    """What one request came to, on both sides. `asked` counts what reached the model."""

    asked: int = 0
    answer: Any = None
    error: BaseException | None = None
    trace: Trace = field(default_factory=lambda: Trace(""))

    @property
    def notes(self) -> list[str]:
        return [line.text for line in self.trace.lines if line.kind == "note" and line.label == MOVED]

    @property
    def ends(self) -> list[str]:
        return [line.label for line in self.trace.lines if line.kind == "end"]


def ask(schedule: str, reply: Callable[[list[Message]], Message] = looks, **more: Any) -> Seen:
    """One request under a schedule; only the first process makes it."""
    seen, model = Seen(), ScriptedModel(reply)

    def answered(request: httpx.Request) -> httpx.Response:
        seen.asked += 1
        return model(request)

    def body(process: Process) -> None:
        client = open_client(http=process.http(answered), environ={})
        try:
            seen.answer = client.chat.completions.create(model="any", messages=ASK, **{"tools": TOOLS, **more})
            if more.get("stream"):
                seen.answer = [piece.to_dict() for piece in seen.answer]
        except Exception as error:
            seen.error = error

    seen.trace = run_once(Scenario("model", body, recover=lambda process: None), schedule)
    return seen


def tool_calls(answer: Any) -> list[tuple[str, str, str]]:
    return [(call.id, call.function.name, call.function.arguments) for call in answer.choices[0].message.tool_calls]


@pytest.mark.parametrize(
    ("place", "error", "cause", "asked"),
    [
        ("before+rate_limited(30)", openai.RateLimitError, type(None), 0),
        ("before+server_error", openai.InternalServerError, type(None), 0),
        ("before+error", openai.APIConnectionError, httpx.ConnectError, 0),
        ("before+timeout", openai.APITimeoutError, httpx.ReadTimeout, 0),
        ("before+late(5)", openai.APITimeoutError, httpx.ReadTimeout, 1),
        ("after+timeout", openai.APITimeoutError, httpx.ReadTimeout, 1),
        ("after+cut", openai.APIConnectionError, httpx.RemoteProtocolError, 1),
    ],
)
def test_faults_that_are_errors_to_the_client(place: str, error: type[Exception], cause: type, asked: int) -> None:
    """Which error it raises, of what, and whether the model was asked in the end. It is asked once: the client tries nothing again."""
    seen = ask(f"p1@http1.{place}")
    assert (error, cause, asked) == (type(seen.error), type(seen.error.__cause__), seen.asked)
    assert f"{CHAT} (call 1, injected)" in str(seen.error.__cause__ or seen.error)
    assert seen.ends == ["returned"]
    assert seen.notes == []


def test_how_long_to_wait_can_be_read() -> None:
    """In the header, in whole seconds; the refusals are JSON as an endpoint writes it."""
    limited, broken = (ask(f"p1@http1.before+{fault}").error for fault in ("rate_limited(30)", "server_error"))
    assert isinstance(limited, openai.RateLimitError)
    assert (limited.response.headers["retry-after"], limited.status_code, limited.code) == ("30", 429, "rate_limit_exceeded")
    assert isinstance(broken, openai.InternalServerError)
    assert ("retry-after" in broken.response.headers, broken.status_code) == (False, 500)


def test_malformed_arguments() -> None:
    """Those of the first call are cut, the rest is what the model said; a model that asked for nothing asks for the first tool that it was offered."""
    seen = ask("p1@http1.before+malformed_arguments")
    assert tool_calls(seen.answer) == [("call_1", "look", '{"at": '), ("call_2", "look", '{"at": "logs"}')]
    seen = ask("p1@http1.before+malformed_arguments", talks)
    assert (tool_calls(seen.answer), seen.asked) == ([("call_1", "look", "{")], 1)
    assert seen.answer.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("arguments", [{}, {"a": {"b": [1]}}, {"text": "}" * 40}, {"text": "\U0001f680" * 9}])
def test_malformed_arguments_are_never_json(arguments: dict[str, Any]) -> None:
    """Whatever the real ones are."""
    ((_, _, text),) = tool_calls(ask("p1@http1.before+malformed_arguments", lambda messages: calls(("look", arguments))).answer)
    assert text
    with pytest.raises(ValueError):
        json.loads(text)


def test_an_unknown_tool() -> None:
    """The first call names a tool that nobody offered, with the arguments of the real one."""
    offered = {tool["function"]["name"] for tool in TOOLS}
    for reply, given in ((looks, '{"at": "disk"}'), (talks, "{}")):
        (_, name, arguments), *others = tool_calls(ask("p1@http1.before+unknown_tool", reply).answer)
        assert name not in offered
        assert arguments == given
        assert others == ([("call_2", "look", '{"at": "logs"}')] if reply is looks else [])


def test_empty() -> None:
    """A completion in which nothing is said, by a model that was asked."""
    seen = ask("p1@http1.before+empty")
    assert (seen.answer.choices, seen.asked, seen.answer.usage.total_tokens > 0) == ([], 1, True)


def test_a_cut_stream() -> None:
    """What had come by then is there, and then the connection breaks."""
    pieces: list[str] = []

    def body(process: Process) -> None:
        client = open_client(http=process.http(ScriptedModel(talks)), environ={})
        with client.chat.completions.create(model="any", messages=ASK, stream=True) as stream:
            pieces.extend(piece.choices[0].delta.content or "" for piece in stream)

    trace = run_once(Scenario("cut", body), "p1@http1.after+cut")
    assert talks([])["content"].startswith("".join(pieces))
    assert 0 < len("".join(pieces)) < len(talks([])["content"])
    assert "raised APIConnectionError" in str(trace.lines[-1])


@pytest.mark.parametrize("fault", SPOILS)
def test_what_comes_in_pieces_is_left_as_it_is_and_that_is_told(fault: str) -> None:
    """These faults do not strike a stream, and do not pretend to."""
    seen = ask(f"p1@http1.before+{fault}", stream=True)
    assert seen.answer == ask("none", stream=True).answer
    assert seen.notes == [f"p1@http1.before+{fault}: http {CHAT}, with an answer that it cannot strike"]


@pytest.mark.parametrize("fault", SPOILS)
@pytest.mark.parametrize("answer", ODD, ids=lambda answer: answer.text)
def test_what_is_no_completion_is_left_as_it_is_and_that_is_told(fault: str, answer: httpx.Response) -> None:
    """An answer in which there is nothing to spoil is the answer."""
    got: list[int | bytes] = []

    def body(process: Process) -> None:
        came = process.http(lambda request: answer).post("/v1/chat/completions", content=b"[")
        got.extend([came.status_code, came.content])

    with open_world("memory") as world:
        end, _ = Runner(Scenario("odd", body), world).run(Schedule.parse(f"p1@1.before+{fault}"))
    assert got == [answer.status_code, answer.content]
    assert len(end.moved) == 1


def test_what_cannot_be_spoilt_is_not_exercised() -> None:
    """A sweep whose faults met no completion has proved nothing."""
    scenario = Scenario("odd", lambda process: process.http(lambda request: httpx.Response(204)).post("/v1/chat/completions"))
    assert sweep(scenario, faults=("empty",)).verdict == "not_exercised"
    assert sweep(scenario, faults=("rate_limited(1)",)).verdict == "holds"


def test_a_packed_answer_is_cut_too() -> None:
    """It breaks off; it does not become one that cannot be unpacked."""
    packed = httpx.Response(200, headers={"content-encoding": "gzip"}, content=gzip.compress(b"a long answer"))
    scenario = Scenario("packed", lambda process: process.http(lambda request: packed).post("/v1/chat/completions"))
    assert "raised RemoteProtocolError" in str(run_once(scenario, "p1@1.after+cut").lines[-1])


@pytest.mark.parametrize(("side", "asked"), [("before", 0), ("after", 1)])
def test_a_crash_at_a_request(side: str, asked: int) -> None:
    """Before it the model has not heard of it, after it the answer has died with the process."""
    seen = ask(f"p1@http1.{side}+crash")
    assert (seen.answer, seen.asked, seen.ends) == (None, asked, ["crashed", "returned"])


def test_a_model_that_never_answers() -> None:
    """A hang ends the process and not the test."""
    seen = ask("p1@http1.before+hang")
    assert (seen.answer, seen.asked, seen.ends[0]) == (None, 0, "hung")


def test_both_sides_of_one_request() -> None:
    """A spoilt answer can get lost on its way too; one given at the door has no other side."""
    seen = ask("p1@http1.before+empty,p1@http1.after+timeout")
    assert (type(seen.error), seen.asked) == (openai.APITimeoutError, 1)
    refused = ask("p1@http1.before+server_error,p1@http1.after+timeout")
    assert (type(refused.error), refused.asked) == (openai.InternalServerError, 0)
    assert any(line.label == UNREACHED for line in refused.trace.lines)
    assert [line.side for line in refused.trace.lines if line.kind == "cross"] == ["before"]


def other_calls(process: Process) -> None:
    """A webhook, a call of the cloud, a nap, a call over HTTP that is no request, and a question to a model."""
    process.http(lambda request: httpx.Response(204)).post("/hook")
    process.cloud.create_dns_record("shop", key="k")
    process.clock.sleep(1.0)
    process.gate.cross("http", CHAT, lambda: None)
    client = openai.OpenAI(api_key="none", base_url="http://x.invalid/v1", max_retries=0, http_client=process.http(ScriptedModel(looks)))
    try:
        client.chat.completions.create(model="any", messages=ASK)
    except openai.OpenAIError as error:
        process.note("failed", type(error).__name__)


@pytest.mark.parametrize("kind", ANSWERS)
def test_at_what_it_cannot_answer_it_strikes_nothing_and_that_is_told(kind: str) -> None:
    """At a webhook a completion means nothing, a refusal does; at what is no request neither does, whatever it is called."""
    side = "after" if kind == "cut" else "before"
    with open_world("memory") as world:
        runner = Runner(Scenario("others", other_calls), world)
        moved = [runner.run(Schedule.parse(f"p1@{number}.{side}+{FAULT[kind]}"))[0].moved for number in (1, 2, 3, 4, 5)]
    fits_a_webhook = kind in ("rate_limited", "server_error")
    assert [bool(there) for there in moved] == [not fits_a_webhook, True, True, True, False]
    assert moved[3] == (f"p1@4.{side}+{FAULT[kind]}: http {CHAT}",)
    assert fits_a_webhook or moved[0] == (f"p1@1.{side}+{FAULT[kind]}: http POST /hook",)


def test_a_sweep_finds_the_places_of_a_model_fault() -> None:
    """It strikes once at the question to the model, and at the webhook where that makes sense; no run is spent on other calls."""
    scenario = Scenario("others", other_calls)
    for fault, struck, runs in (("unknown_tool", 1, 3), ("server_error", 2, 4)):  # one without a fault, one at what is only called like a request
        closure = sweep(scenario, faults=(fault,)).closure
        assert (closure.struck, closure.runs) == (struck, runs)
    assert sweep(Scenario("no_model", lambda process: process.clock.sleep(1.0)), faults=tuple(FAULT.values())).verdict == "not_exercised"


def never_spoilt(end: Any) -> str | None:
    return next(("no answer" for note in end.notes if note.label == "failed"), None)


def test_a_search_draws_model_faults_where_they_mean_something() -> None:
    """All schedules of one such fault strike, so few examples are enough; what it finds is replayed by its token."""
    report = search(Scenario("others", other_calls, [never_spoilt]), faults=("cut",), examples=10)
    assert report.verdict == "broken"
    assert "p1@http3.after+cut" in report.broken[0].token
    assert run_once(Scenario("others", other_calls, [never_spoilt]), report.broken[0].token.partition(":")[2]).broken


def test_nothing_draws_a_model_fault_unasked() -> None:
    """The usual faults of sweeps and searches are what they were."""
    assert FAULTS == ("crash", "timeout", "delay(30)", "interrupt")
    assert all("+crash" in token for _, token, _ in sweep(Scenario("others", other_calls)).closure.reached)


def patient(process: Process) -> None:
    """Asks until it has an answer, and acts on it once."""
    client = open_client(http=process.http(ScriptedModel(looks)), environ={})
    for _ in range(3):
        try:
            said = client.chat.completions.create(model="any", messages=ASK, tools=TOOLS)
            for call in said.choices[0].message.tool_calls:
                process.cloud.create_dns_record(json.loads(call.function.arguments)["at"], key=call.id)
            return
        except openai.RateLimitError as error:
            process.clock.sleep(float(error.response.headers["retry-after"]))


def test_a_rate_limit_is_waited_out() -> None:
    """In virtual time, and the conversation goes on as if nothing had been."""
    with open_world("memory") as world:
        end, _ = Runner(Scenario("patient", patient), world).run(Schedule.parse("p1@http1.before+rate_limited(30),p1@http2.before+rate_limited(7)"))
    assert end.sleeps == (30.0, 7.0)
    assert [effect.target for effect in end.effects] == ["disk", "logs"]
