"""One call, whatever its tool or its model does: one text for the model, the calls beside it answered, and an effect at most once without a person's yes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from labkit.agent import artifacts, calls
from labkit.agent.approval import answer, approve
from labkit.agent.calls import LONGEST_RESULT
from labkit.agent.cloud_tools import disk_tools
from labkit.agent.journal import ToolJournal
from labkit.agent.script import Message, results, says
from labkit.agent.state import Budget, RiskLevel
from labkit.agent.tools import Arguments, Tool, toolbox
from labkit.clock import VirtualClock
from labkit.errors import CallTimeout, RetriesExhausted, StaleLease, TerminalError, TransientError, UsageError
from labkit.faults import End, Process, Scenario, at_most_once
from labkit.queue.job import Ask, GiveBack
from labkit.retry import RetryPolicy
from labkit.task import TaskState
from tests.agent import worlds
from tests.agent.runs import Bench, asks_once, raw, tool
from tests.agent.test_crashes import one_crash


@pytest.fixture
def bench(sqlite: Engine, clock: VirtualClock) -> Bench:
    return Bench(sqlite, clock)


class Mute:
    """Nothing can be asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("no")


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Bare(TransientError):
    """swordfish"""


def test_bad_arguments_and_names(bench: Bench) -> None:
    """Each wrong call is told so in one line, those beside it are made, and the run goes on to its end."""
    wrong = ["", "null", "[]", "1", "{", '{"host": 5}', '{"host": "a", "host": "b"}', '{"server": "web-1"}', "x" * 1_000_000, '{"host": "\\ud800"}']
    names = ["clean_log", "", "a b", "ä" * 70, "\x00", None]
    asked = raw(*[("clean_logs", text) for text in wrong], *[(name, "{}") for name in names], ("clean_logs", '{"host": "web-1"}'))
    tokens = Budget(max_llm_tokens=10**9)  # a megabyte costs more than a run usually may
    task = bench.run(bench.agent(lambda messages: says("done") if results(messages) else asked, budget=tokens))
    told = bench.tool_texts(task.id)
    assert (TaskState.COMPLETED, len(wrong) + len(names) + 1, 1) == (task.state, len(told), len(bench.cloud.effects()))
    assert all(text.startswith("error: ") and len(text) <= 310 and "\n" not in text for text in told[:-1])
    assert "error: there is no tool 'clean_log', only check_disk, clean_logs, ask_person, read_artifact" == told[len(wrong)]


@pytest.mark.parametrize("arguments", [None, {"host": "web-1"}, ["web-1"], 5, True])
def test_arguments_that_are_no_text(bench: Bench, arguments: Any) -> None:
    """An endpoint that gives arguments as an object is understood; whatever else it gives is wrong arguments and no accident."""
    task = bench.run(bench.agent(lambda messages: says("done") if results(messages) else raw(("clean_logs", arguments))))
    worked = isinstance(arguments, dict)
    assert (TaskState.COMPLETED, worked, worked) == (task.state, bool(bench.cloud.effects()), not bench.tool_texts(task.id)[0].startswith("error"))


@pytest.mark.parametrize("given_id", ["same", "", None, 7])
def test_ids_of_an_endpoint(bench: Bench, given_id: Any) -> None:
    """An endpoint that gives each call the same id, or none, gets each call answered under one of its own."""

    def reply(messages: list[Message]) -> Message:
        said = raw(("check_disk", '{"host": "a"}'), ("clean_logs", '{"host": "b"}'))
        for call in said["tool_calls"]:
            call["id"] = given_id
        return says("done") if len(results(messages)) == 4 else said

    task = bench.run(bench.agent(reply))
    assert (TaskState.COMPLETED, 4, 2) == (task.state, len(bench.tool_texts(task.id)), len(bench.cloud.effects()))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", ""),
        (None, "None"),
        (5, "5"),
        (b"\x00\xff", "b'\\x00\\xff'"),
        ({"a": 1}, "{'a': 1}"),
        ("a\x00b\ud800", "a\\u0000b\\ud800"),
        ("  \n\n", "  \n\n"),
        (Mute(), "it ran, and what it gave cannot be read (RuntimeError)"),
    ],
)
def test_odd_results(bench: Bench, given: Any, told: str) -> None:
    """What a tool gives becomes a text that can be kept and sent; an empty one is a result."""
    task = bench.run(bench.agent(asks_once(("do", {})), {"do": tool(lambda given_, key: given)}))
    assert (TaskState.COMPLETED, [told]) == (task.state, bench.tool_texts(task.id))


@pytest.mark.parametrize("text", ["line\n" * 100_000, "x" * 1_000_000, "\U0001f680" * 300_000, "\x00" * 10_000])
def test_huge_results(bench: Bench, text: str) -> None:
    """The model is shown an excerpt; the whole is an artifact, which the state names with its size."""
    task = bench.run(bench.agent(asks_once(("do", {})), {"do": tool(lambda given, key: text)}))
    (told,), (kept,) = bench.tool_texts(task.id), bench.state(task.id).artifacts
    assert len(told.encode()) <= LONGEST_RESULT
    assert kept.artifact_id in told
    whole = artifacts.ArtifactStore(bench.engine).get(kept.artifact_id)
    assert (whole.text, kept.bytes) == (text.replace("\x00", "\\u0000"), len(whole.content))


def test_a_result_that_nothing_can_hold(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool ran, the model hears that, and the run goes on."""
    monkeypatch.setattr(calls, "LARGEST_CONTENT", 5_000)
    task = bench.run(bench.agent(asks_once(("do", {})), {"do": tool(lambda given, key: "x" * 5_001)}))
    assert (TaskState.COMPLETED, ["it ran, and what it gave is too large to be kept: 5001 bytes"]) == (task.state, bench.tool_texts(task.id))


RAISED: list[tuple[Exception, int, bool]] = [  # what a tool raises, how often one with a key is asked, and whether it may have happened
    (ValueError("swordfish"), 1, False),
    (ValueError("swordfish" + "x" * 1_000_000), 1, False),
    (ValueError("swordfish\x00\ud800"), 1, False),
    (TerminalError("swordfish"), 1, False),
    (TransientError("swordfish"), 3, False),
    (ConnectionRefusedError("swordfish"), 3, False),
    (ConnectionResetError("swordfish"), 3, True),
    (CallTimeout("swordfish"), 3, True),
    (TimeoutError("swordfish"), 3, True),
    (RetriesExhausted("swordfish"), 1, False),
    (ExceptionGroup("swordfish", [ValueError(1)]), 1, False),
    (KeyError(), 1, False),
    (MuteError(), 1, False),
    (Bare(), 3, False),
    (StopIteration("swordfish"), 1, False),
    (RecursionError("swordfish"), 1, False),
    (Ask("swordfish"), 1, False),
    (GiveBack("swordfish"), 1, False),
    (StaleLease("swordfish"), 1, False),
]


@pytest.mark.parametrize("keyed", [True, False])
def test_whatever_a_tool_raises(bench: Bench, caplog: pytest.LogCaptureFixture, keyed: bool) -> None:
    """It is told to the model in a bounded text and to nobody else. It is asked again under one key, but one without a key never where it may have happened."""
    caplog.set_level(logging.DEBUG)
    keys: list[str] = []

    def raising(error: Exception) -> Callable[..., str]:
        def fails(given: dict[str, Any], key: str) -> str:
            keys.append(key.partition(":")[2])
            raise error

        return fails

    tools = [tool(raising(error), f"do{place}", keyed=keyed) for place, (error, _, _) in enumerate(RAISED)]
    asked = [(one.name, {}) for one in tools]
    task = bench.run(bench.agent(asks_once(*asked, ("clean_logs", {"host": "a"})), toolbox(*tools, *disk_tools(bench.cloud).values())))
    assert (TaskState.COMPLETED, 1) == (task.state, len(bench.cloud.effects()))
    for place, ((error, times, lost), told) in enumerate(zip(RAISED, bench.tool_texts(task.id), strict=False), start=1):
        assert told.startswith(f"error: {type(error).__name__}")
        assert (lost, True) == ("may have happened" in told, len(told) < 400), told
        assert (1 if lost and not keyed else times) == keys.count(f"turn1_call{place}"), told
    assert "swordfish" not in caplog.text


def test_what_is_no_error_goes_through(bench: Bench) -> None:
    """A KeyboardInterrupt in a tool ends the process and not the call; the next one makes it again."""
    interrupted = [True]

    def run(given: dict[str, Any], key: str) -> str:
        if interrupted.pop() if interrupted else False:
            raise KeyboardInterrupt
        return "ok"

    agent = bench.agent(asks_once(("do", {})), {"do": tool(run)})
    task_id = bench.queue().submit("do it")
    with pytest.raises(KeyboardInterrupt):
        bench.work(agent)
    bench.clock.sleep(61)
    bench.work(agent, "w2")
    assert (TaskState.COMPLETED, ["ok"]) == (bench.checked(task_id).state, bench.tool_texts(task_id))


def test_a_call_that_somebody_else_has_recorded(bench: Bench) -> None:
    """The model is told what the record says, also by whoever came second, and that is what is known last."""

    def run(given: dict[str, Any], key: str) -> str:
        ToolJournal(bench.engine, key.partition(":")[0]).record("turn1_call1", "95%")
        return "45%"

    task = bench.run(bench.agent(asks_once(("do", {})), {"do": tool(run)}))
    assert (TaskState.COMPLETED, ["95%"]) == (task.state, bench.tool_texts(task.id))
    assert "95%" == bench.state(task.id).known_facts[-1].value


def test_the_policy_that_was_given_is_kept_to(bench: Bench) -> None:
    """Also in what it does not try again."""
    tried: list[str] = []

    def run(given: dict[str, Any], key: str) -> str:
        tried.append(key)
        raise TransientError("later")

    policy = RetryPolicy(max_attempts=5, retry_on=lambda error: len(tried) < 2)
    bench.run(bench.agent(asks_once(("do", {})), {"do": tool(run)}, tool_policy=policy))
    assert 2 == len(tried)


def test_names_of_tools(bench: Bench) -> None:
    """A tool stands under its own name, no two under one, and none in the place of the one that asks a person."""
    do = tool(lambda given, key: "ok")
    for tools in ({"other": do}, *({name: replace(do, name=name)} for name in ("ask_person", "read_artifact"))):
        with pytest.raises(UsageError):
            bench.agent(asks_once(("do", {})), tools)
    with pytest.raises(UsageError):
        toolbox(do, do)
    for name in ("", "a b", "x" * 65, "ä"):
        with pytest.raises(UsageError):
            replace(do, name=name)


async def later(given: dict[str, Any], key: str) -> str:
    return "ok"


class Later:
    """A coroutine function that does not look like one."""

    async def __call__(self, given: dict[str, Any], key: str) -> str:
        return "ok"


class Secret(Arguments):
    """Nothing that a model could write."""

    what: Callable[[], None]


@pytest.mark.parametrize(
    "wrong", [{"risk": "harmless"}, {"risk": None}, {"run": later}, {"run": Later()}, {"run": 5}, {"arguments": Secret}, {"arguments": dict}]
)
def test_tools_that_cannot_be(wrong: dict[str, Any]) -> None:
    """A risk that nobody knows, a coroutine, arguments without a schema: said where the tool is made and not in the middle of a run."""
    with pytest.raises(UsageError):
        replace(tool(lambda given, key: "ok"), **wrong)


def deaf(process: Process) -> dict[str, Tool]:
    """Cleans logs and knows no keys, so its cloud does too."""
    known = disk_tools(process.cloud)["clean_logs"]
    return {"clean_logs": replace(known, run=lambda given, key: process.cloud.clean_logs(given["host"]), keyed=False)}


def without_a_word(process: Process) -> str:
    """An attempt with a tool that knows no keys; nobody ever answers."""
    return worlds.attempt(process, replace(worlds.agent_of(process, worlds.cleans_at_once), tools=deaf(process)))


def test_without_a_yes_at_most_once() -> None:
    """A crash at each crossing: a tool that knows no keys has its effect once at most, and the task then waits for a person."""
    waits: list[End] = []

    def noted(end: End) -> str | None:
        if end.last.value == "waiting":
            waits.append(end)
        return None

    holds = [at_most_once("clean_logs"), *worlds.INVARIANTS, noted]
    broken, closure = one_crash(Scenario("agent.unkeyed", without_a_word, holds, worlds.claimed, goal=worlds.done))
    assert [] == broken
    assert len(closure.states) > 10
    assert {0, 1} == {end.count("clean_logs") for end in waits}


class Died(BaseException):
    """The process died here."""


def test_each_run_needs_a_yes_of_its_own(engine: Engine, clock: VirtualClock) -> None:
    """A yes to one more run is no yes to another: after each death a person is asked anew, and told how often it has begun."""
    bench, deaths = Bench(engine, clock), [True, True, False]

    def run(given: dict[str, Any], key: str) -> str:
        bench.cloud.clean_logs("web-1")
        if deaths.pop(0):
            raise Died
        return "cleaned"

    agent = bench.agent(asks_once(("do", {"what": "x"})), {"do": tool(run, keyed=False)})
    task_id = bench.queue().submit("do it")
    for times in (1, 2):
        with pytest.raises(Died):
            bench.work(agent)
        bench.clock.sleep(61)
        bench.work(agent, "w2")
        assert (TaskState.WAITING, times) == (bench.checked(task_id).state, bench.cloud.count("clean_logs"))
        assert (f"begun {times} times" in (bench.queue().question(task_id).text or "")) == (times > 1)
        approve(bench.queue(), task_id)
    bench.work(agent)
    assert (TaskState.COMPLETED, 3, ["cleaned"]) == (bench.checked(task_id).state, bench.cloud.count("clean_logs"), bench.tool_texts(task_id))
    assert [] == bench.state(task_id).open_questions


def test_a_no_after_a_death(bench: Bench) -> None:
    """The model hears that it may have happened, and in what words it was refused."""

    def run(given: dict[str, Any], key: str) -> str:
        raise Died

    agent = bench.agent(asks_once(("do", {})), {"do": tool(run, keyed=False)})
    task_id = bench.queue().submit("do it")
    with pytest.raises(Died):
        bench.work(agent)
    bench.clock.sleep(61)
    bench.work(agent)
    answer(bench.queue(), task_id, "No, I looked: it is clean.")
    bench.work(agent)
    told = "not run again, though it may have happened before, a person said: No, I looked: it is clean."
    assert (TaskState.COMPLETED, [told]) == (bench.checked(task_id).state, bench.tool_texts(task_id))


def test_each_attempt_gets_its_own_arguments(bench: Bench) -> None:
    """What an attempt does to its arguments, however deep, is not what the next one gets under the same key."""
    seen: list[list[str]] = []

    class Deep(Arguments):
        names: list[str]

    def run(given: dict[str, Any], key: str) -> str:
        seen.append(list(given["names"]))
        given["names"].pop()
        if len(seen) == 1:
            raise TransientError("busy")
        return "ok"

    bench.run(bench.agent(asks_once(("do", {"names": ["a", "b"]})), {"do": Tool("do", "x", run, Deep, RiskLevel.READ_ONLY)}))
    assert [["a", "b"], ["a", "b"]] == seen


class Unreadable(TransientError):
    """An error that cannot be asked when to come again."""

    @property
    def retry_after(self) -> float:  # type: ignore[override]
        raise ValueError("s3cret")


@pytest.mark.parametrize("error", [Unreadable("no"), TransientError("no", retry_after=1e12)])
def test_an_error_that_asks_too_much(bench: Bench, error: Exception) -> None:
    """One that cannot be read, and one that asks a worker to wait for years, are told to the model; the run goes on at once."""

    def run(given: dict[str, Any], key: str) -> str:
        raise error

    task = bench.run(bench.agent(asks_once(("do", {})), {"do": tool(run)}))
    assert TaskState.COMPLETED == task.state
    assert f"error: {type(error).__name__}: no" in bench.tool_texts(task.id)[0]
    assert bench.clock.monotonic() < 60
