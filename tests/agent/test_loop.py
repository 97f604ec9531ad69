"""Whole runs under a real worker: budgets, deadlines, cancels, stops, lost leases, checkpoints; however one ends, it has one last event."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

from labkit.agent.approval import answer, approve
from labkit.agent.artifacts import ArtifactStore
from labkit.agent.cloud_tools import disk_tools
from labkit.agent.history import history_faults
from labkit.agent.journal import Cost, ToolJournal
from labkit.agent.loop import MODEL_POLICY
from labkit.agent.model import open_client
from labkit.agent.script import Message, ScriptedModel, calls, completion, results, says
from labkit.agent.sent import INSTRUCTIONS
from labkit.agent.state import LONGEST_RUN, AgentState, Budget, Fact, StatePatch
from labkit.agent.states import FOR_FLAGS, LARGEST_STATE, AgentStates
from labkit.checkpoint import CheckpointManager, CheckpointStore
from labkit.checkpoint.manager import STRATEGIES
from labkit.clock import VirtualClock
from labkit.cloud import FileLedger
from labkit.errors import StaleJournal, StoreBusy
from labkit.queue import TaskQueue, Worker
from labkit.task import Task, TaskState
from tests.agent.conftest import ROOT
from tests.agent.runs import Bench, Reply, asks_once, cleans, tool
from tests.agent.worlds import UNWATCHED
from tests.queue.helpers import until

FLAGS = ["budget_pressure", "budget_exhausted"]


@pytest.fixture
def bench(sqlite: Engine, clock: VirtualClock) -> Bench:
    return Bench(sqlite, clock)


@pytest.fixture
def both(engine: Engine, clock: VirtualClock) -> Bench:
    return Bench(engine, clock)


def forever(messages: list[Message]) -> Message:
    """Never comes to an end."""
    return calls(("check_disk", {"host": "web-1"}))


def slowly(bench: Bench, seconds: float, reply: Reply) -> Reply:
    """Takes its time, and whoever else is alive stays so."""

    def later(messages: list[Message]) -> Message:
        bench.clock.sleep(seconds)
        return reply(messages)

    return later


def test_a_run(both: Bench) -> None:
    """A plain run: its result, its effect, what was told on the way, and what is known at the end."""
    task = both.run(both.agent(cleans))
    assert (TaskState.COMPLETED, "web-1 is clean", 1) == (task.state, task.result, len(both.cloud.effects()))
    told = [(update.step, update.status, update.tool, update.message) for update in both.told(task.id)]
    assert [
        (1, "thinking", "", ""),
        (1, "tool_call", "check_disk", ""),
        (1, "tool_result", "check_disk", "95%, most of it in /var/log"),
        (2, "thinking", "", ""),
        (2, "tool_call", "clean_logs", ""),
        (2, "tool_result", "clean_logs", both.tool_texts(task.id)[1]),
        (3, "thinking", "", ""),
        (3, "completed", "", ""),
    ] == told
    assert ([], [], 2) == (both.state(task.id).plan, both.state(task.id).risk_flags, len(both.state(task.id).known_facts))


@pytest.mark.parametrize(
    ("budget", "told", "turns"),
    [
        (Budget(max_steps=5), "max_steps=5", 5),
        (Budget(max_steps=1), "max_steps=1", 1),
        (Budget(max_steps=0), "max_steps=0", 0),
        (Budget(max_wall_time_ms=45_000), "max_wall_time_ms=45000", 5),
        (Budget(max_wall_time_ms=0), "max_wall_time_ms=0", 0),
        (Budget(max_llm_tokens=1), "max_llm_tokens=1", 1),
        (Budget(max_llm_tokens=0), "max_llm_tokens=0", 0),
    ],
)
def test_budgets(bench: Bench, budget: Budget, told: str, turns: int) -> None:
    """What is used up ends the task for good, between two turns, with a flag for the pressure and then one for the end."""
    task = bench.run(bench.agent(slowly(bench, 10, forever), budget=budget))
    assert (TaskState.FAILED, 1) == (task.state, task.attempt)
    assert (f"the run has used up {told}", turns, FLAGS) == (task.error, len(bench.tool_texts(task.id)), bench.state(task.id).risk_flags)
    bench.queue().redrive(task.id)
    bench.work(bench.agent(slowly(bench, 10, forever), budget=budget))
    assert (TaskState.FAILED, turns) == (bench.queue().get(task.id).state, len(bench.tool_texts(task.id)))


def test_the_longest_budget(bench: Bench) -> None:
    """The longest time that a state may say is one that a run can have."""
    assert TaskState.COMPLETED == bench.run(bench.agent(cleans, budget=Budget(max_wall_time_ms=LONGEST_RUN))).state


def test_pressure_comes_before_the_stop(bench: Bench) -> None:
    """From four fifths on, and a run that ends in time ends well."""
    flags: list[list[str]] = []

    def reply(messages: list[Message]) -> Message:
        flags.append(bench.state(task_id).risk_flags)
        return says("done") if len(flags) == 5 else forever(messages)

    task_id = bench.queue().submit("look")
    bench.work(bench.agent(reply, budget=Budget(max_steps=5)))
    assert [[], [], [], [], FLAGS[:1]] == flags
    assert (TaskState.COMPLETED, FLAGS[:1]) == (bench.checked(task_id).state, bench.state(task_id).risk_flags)


def test_a_budget_is_no_new_one_after_a_restart(both: Bench) -> None:
    """Steps, tokens and time are counted over all processes, and whatever they died of."""
    deaths = [1, 3, 4]

    def reply(messages: list[Message]) -> Message:
        if deaths and len(results(messages)) == deaths[0]:
            deaths.pop(0)
            raise KeyboardInterrupt
        return forever(messages)

    agent = both.agent(slowly(both, 1, reply), budget=Budget(max_steps=6))
    task_id = both.queue(max_attempts=9).submit("look")
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            both.work(agent)
        both.clock.sleep(61)
    both.work(agent)
    cost = ToolJournal(both.engine, task_id).cost()
    assert (TaskState.FAILED, 6, 6_000, True) == (both.checked(task_id).state, len(both.tool_texts(task_id)), cost.millis, cost.tokens > 500)


def test_waiting_costs_no_time(bench: Bench) -> None:
    """Neither for a person, nor in the queue."""
    agent = bench.agent(slowly(bench, 1, cleans), watched=True, budget=Budget(max_wall_time_ms=10_000))
    task_id = bench.queue().submit("clean web-1")
    bench.clock.sleep(100_000)
    bench.work(agent)
    bench.clock.sleep(100_000)
    approve(bench.queue(), task_id)
    bench.clock.sleep(100_000)
    bench.work(agent)
    assert (TaskState.COMPLETED, 3_000) == (bench.checked(task_id).state, ToolJournal(bench.engine, task_id).cost().millis)


def test_bytes_of_results(bench: Bench) -> None:
    """What does not fit is cut in the request, which is flagged; the run goes on, and its journal holds all of it."""
    sizes: list[int] = []

    def reply(messages: list[Message]) -> Message:
        sizes.append(sum(len(message["content"]) for message in messages if message["role"] == "tool"))
        return says("done") if len(sizes) == 9 else calls(("do", {}))

    big = {"do": tool(lambda given, key: "line\n" * 300)}
    task = bench.run(bench.agent(reply, big, budget=Budget(max_artifact_bytes_in_context=4_000)))
    assert (TaskState.COMPLETED, FLAGS[:1]) == (task.state, bench.state(task.id).risk_flags)
    assert max(sizes) < 4_000 + 9 * 200
    assert [1_500] * 8 == [len(text) for text in bench.tool_texts(task.id)]


@pytest.mark.parametrize("most", [0, 300])
def test_what_is_cut_is_in_the_store(both: Bench, most: int) -> None:
    """Also a short result, under the name that the line gives: nothing that a model was shown once can be read nowhere any more."""
    shown: list[str] = []

    def reply(messages: list[Message]) -> Message:
        shown.extend(message["content"] for message in messages if message["role"] == "tool")
        return says("done") if len(results(messages)) == 3 else calls(("do", {}))

    texts = [f"result {number}\n" + "x" * size for number, size in enumerate((150, 1_200, 5_000))]
    left = list(texts)
    task = both.run(both.agent(reply, {"do": tool(lambda given, key: left.pop(0))}, budget=Budget(max_artifact_bytes_in_context=most)))
    assert TaskState.COMPLETED == task.state
    store, named = ArtifactStore(both.engine), {one.artifact_id: one for one in both.state(task.id).artifacts}
    cut = {line.rpartition(" ")[2].rstrip("]") for line in shown if "older result, cut" in line}
    assert cut <= named.keys()
    assert {"do"} == {one.type for one in named.values()}
    assert {*texts} <= {store.get(artifact_id).text for artifact_id in named}
    assert {*texts[:2]} <= {store.get(artifact_id).text for artifact_id in cut}


def test_a_goal_of_many_bytes(both: Bench) -> None:
    """The model is shown its beginning and all that is known; the whole is in the conversation, and in the artifact store under the name that is shown."""
    known: list[Any] = []

    def reply(messages: list[Message]) -> Message:
        known.append(json.loads(messages[0]["content"].removeprefix(INSTRUCTIONS)))
        return cleans(messages)

    goal = "Clean the logs of web-1, but first read this: " + "blah " * 2_000
    task = both.run(both.agent(reply, begin=lambda task: AgentState(goal=task.user_input, constraints=UNWATCHED)), goal)
    assert (TaskState.COMPLETED, 2) == (task.state, len(known[-1]["facts"]))
    assert known[-1]["goal"].startswith("Clean the logs of web-1")
    artifact_id = known[-1]["goal"].rpartition(" ")[2].rstrip("]")
    assert (goal, ["goal"]) == (ArtifactStore(both.engine).get(artifact_id).text, [one.type for one in both.state(task.id).artifacts])


def filled(bench: Bench, task_id: str, *, left: int) -> None:
    """Another agent fills the state up to so many bytes."""
    states = AgentStates(bench.engine)
    room = LARGEST_STATE - len(json.dumps(states.get("ops", task_id).state.model_dump(mode="json")))
    states.patch("ops", task_id, StatePatch(facts=[Fact(key="a", value="x" * (room - left - 100), source="other")]))
    rest = LARGEST_STATE - len(json.dumps(states.get("ops", task_id).state.model_dump(mode="json"))) - left
    states.patch("ops", task_id, StatePatch(plan=[*states.get("ops", task_id).state.plan, "x" * (rest - 4)]))


@pytest.mark.parametrize("left", [0, 40])
@pytest.mark.parametrize("flags", [0, FOR_FLAGS])
def test_another_agent_fills_the_state(both: Bench, left: int, flags: int) -> None:
    """While a tool runs: its effect is recorded all the same, the run goes on, and says that its state is full as long as there is room for that."""

    def run(given: dict[str, Any], key: str) -> str:
        filled(both, task_id, left=left)
        if flags:
            AgentStates(both.engine).patch("ops", task_id, StatePatch(risk_flags=["x" * (left + flags - 4)]))
        return both.cloud.clean_logs("web-1", key=key)

    task_id = both.queue().submit("clean web-1")
    both.work(both.agent(asks_once(("do", {}), ("ask_person", {"question": "Why?"})), {"do": tool(run)}, budget=Budget(max_steps=2)))
    assert (TaskState.WAITING, 1, 1) == (both.checked(task_id).state, len(both.cloud.effects()), len(both.tool_texts(task_id)))
    answer(both.queue(), task_id, "because")
    both.work(both.agent(asks_once(("do", {})), {}, budget=Budget(max_steps=2)))
    task, state = both.checked(task_id), both.state(task_id)
    assert (TaskState.COMPLETED, "because", 1) == (task.state, both.tool_texts(task_id)[1], len(state.known_facts))
    assert flags or {"state_full"} <= set(state.risk_flags)


def test_a_step_leaves_the_plan_of_a_full_state(bench: Bench) -> None:
    """What fits is written: the plan gets shorter, also where the fact has no room."""

    def run(given: dict[str, Any], key: str) -> str:
        filled(bench, task_id, left=0)
        return "ok"

    task_id = bench.queue().submit("clean web-1")
    bench.work(bench.agent(asks_once(("do", {})), {"do": tool(run)}, begin=lambda task: AgentState(goal="go", plan=["do", "rest"], constraints=UNWATCHED)))
    state = bench.state(task_id)
    assert (TaskState.COMPLETED, "rest", ["state_full"]) == (bench.checked(task_id).state, state.plan[0], state.risk_flags)


def answering(*answers: Any) -> httpx.Client:
    """An endpoint that gives these answers one after the other, the last one for ever."""
    left = list(answers)
    return httpx.Client(transport=httpx.MockTransport(lambda request: (left.pop(0) if len(left) > 1 else left[0])(request)))


def status(code: int, **headers: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(code, json={}, headers={name.replace("_", "-"): value for name, value in headers.items()})


def spoken(bench: Bench, http: httpx.Client, **more: Any) -> Any:
    return replace(bench.agent(cleans, **more), client=open_client(http=http, environ={}))


def test_a_model_that_comes_back(bench: Bench) -> None:
    """It is asked again within one attempt, after what it asked for; a policy that was given is used as it is."""
    agent = spoken(bench, answering(status(500), status(429, retry_after="7"), status(503), ScriptedModel(cleans)), model_policy=MODEL_POLICY)
    task = bench.run(agent)
    assert (TaskState.COMPLETED, 1, 1 + 7 + 4) == (task.state, task.attempt, bench.clock.elapsed)


def test_agents_that_are_turned_away_together(bench: Bench) -> None:
    """They come back one by one, never before the endpoint wants them, and on a second run at the same times; an own generator is used where it is given."""

    def back(name: str, **more: Any) -> float:
        agent = spoken(bench, answering(status(429, retry_after="7"), ScriptedModel(lambda messages: says("done"))), **more)
        queue, before = TaskQueue(bench.engine, clock=bench.clock, now=bench.clock.now, new_id=lambda: name), bench.clock.elapsed
        queue.submit(name)
        bench.work(agent)
        assert TaskState.COMPLETED == queue.get(name).state
        with bench.engine.begin() as connection:
            for table in ("tasks", "task_options", "messages", "agent_states", "progress_log"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        return round(bench.clock.elapsed - before, 6)

    waits = [back(f"t{number}") for number in range(8)]
    assert (8, True) == (len(set(waits)), all(7 <= wait <= 8 for wait in waits))
    assert waits[:2] == [back("t0"), back("t1")]
    assert round(7 + random.Random(5).uniform(0, 1), 6) == back("t0", rng=random.Random(5))


def test_a_model_that_does_not_answer_in_time(both: Bench) -> None:
    """Waiting for it is time of the run, over all its attempts: when that is used up the run is stopped, with its flags."""

    def silent(request: httpx.Request) -> httpx.Response:
        both.clock.sleep(60)
        raise httpx.ReadTimeout("no answer")

    task_id = both.queue(max_attempts=99).submit("clean web-1")
    agent = spoken(both, answering(silent), budget=Budget(max_wall_time_ms=600_000), model_policy=MODEL_POLICY)
    spent = []
    for _ in range(4):
        both.work(agent)
        spent.append(ToolJournal(both.engine, task_id).cost().millis)
        both.clock.sleep(1_000)
    assert [247_000, 494_000] == spent[:2]
    assert 600_000 <= spent[2] < 660_000
    task = both.checked(task_id)
    assert (TaskState.FAILED, "the run has used up max_wall_time_ms=600000", FLAGS) == (task.state, task.error, both.state(task_id).risk_flags)


class Overshooting:
    """A clock on which each sleep takes longer than it was asked for, as real ones do."""

    def __init__(self, clock: VirtualClock, more: float) -> None:
        self.clock, self.more = clock, more

    def __getattr__(self, name: str) -> Any:
        return getattr(self.clock, name)

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds + self.more)


@pytest.mark.parametrize("deadline", [False, True])
def test_time_that_ends_between_two_tries(bench: Bench, deadline: bool) -> None:
    """The run's own time stops it as a budget that is used up; the task's deadline ends it as what it is."""
    agent = spoken(bench, answering(status(500)), budget=Budget() if deadline else Budget(max_wall_time_ms=2_000), model_policy=MODEL_POLICY)
    task_id = bench.queue().submit("clean web-1", deadline=bench.clock.now() + timedelta(seconds=2) if deadline else None)
    bench.work(replace(agent, clock=Overshooting(bench.clock, 1.5)))
    task = bench.checked(task_id)
    told = "deadline" if deadline else "max_wall_time_ms=2000"
    assert (TaskState.FAILED, True, [] if deadline else FLAGS) == (task.state, told in (task.error or ""), bench.state(task_id).risk_flags)


def test_an_outage_while_the_cost_is_noted(bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The attempt ends with what ended it, and not with that."""

    def busy(journal: ToolJournal, cost: Cost) -> None:
        raise StoreBusy

    monkeypatch.setattr(ToolJournal, "spend", busy)
    task = bench.run(spoken(bench, answering(status(401))))
    assert (TaskState.FAILED, "the model's endpoint answered 401", True) == (task.state, task.error, "is not counted" in caplog.text)


@pytest.mark.parametrize(("reason", "asked", "told"), [("length", 2 * 4, "cut at its longest length"), ("content_filter", 1, "filtered the answer out")])
def test_an_answer_that_did_not_come_to_its_end(bench: Bench, reason: str, asked: int, told: str) -> None:
    """Half an answer completes no task. It is asked for again so many times, each of which is paid for, and the task fails with the reason."""
    seen: list[int] = []

    def cut(request: httpx.Request) -> httpx.Response:
        seen.append(1)
        body = completion(calls(("clean_logs", {"host": "web-1"})), [], "any") | {"usage": {"total_tokens": 100}}
        body["choices"][0]["finish_reason"] = reason
        return httpx.Response(200, json=body)

    agent = spoken(bench, answering(cut))
    task_id = bench.queue(max_attempts=2).submit("clean web-1")
    for _ in range(3):
        bench.work(agent)
        bench.clock.sleep(100)
    task = bench.checked(task_id)
    assert (TaskState.FAILED, True, asked, 0) == (task.state, told in (task.error or ""), len(seen), len(bench.cloud.effects()))
    assert 100 * asked == ToolJournal(bench.engine, task_id).cost().tokens


def test_an_answer_that_was_cut_once(bench: Bench) -> None:
    """The next one counts."""

    def cut(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "web-1 is"}}]})

    task = bench.run(spoken(bench, answering(cut, ScriptedModel(cleans))))
    assert (TaskState.COMPLETED, "web-1 is clean", 1) == (task.state, task.result, task.attempt)


def test_the_first_state_is_made_once(both: Bench) -> None:
    """Not in every attempt: what another one finds is what the first one made, however that changes."""
    made: list[str] = []

    def begin(task: Task) -> AgentState:
        made.append(task.id)
        return AgentState(goal=f"goal {len(made)}")

    agent = both.agent(cleans, begin=begin)
    task_id = both.run(agent).id
    approve(both.queue(), task_id)
    both.work(agent, "w2")
    assert (TaskState.COMPLETED, [task_id], "goal 1") == (both.checked(task_id).state, made, both.state(task_id).goal)


@pytest.mark.parametrize("deadline", [None, 10.0, 200_000.0])
def test_a_model_that_asks_for_a_day(bench: Bench, deadline: float | None) -> None:
    """No worker sleeps for it: the task goes back to the queue until then, or ends where its deadline comes before."""
    until, early = None if deadline is None else bench.clock.now() + timedelta(seconds=deadline), deadline == 10
    task_id = bench.queue().submit("clean web-1", deadline=until)
    agent = spoken(bench, answering(status(429, retry_after="60" if early else "86400"), ScriptedModel(cleans)))
    bench.work(agent)
    assert (TaskState.FAILED if early else TaskState.PENDING, 0) == (bench.checked(task_id).state, bench.clock.elapsed)
    bench.clock.sleep(100_000)
    bench.work(agent)
    assert (TaskState.FAILED if early else TaskState.COMPLETED) == bench.checked(task_id).state


@pytest.mark.parametrize(("code", "attempts"), [(401, 1), (500, 3)])
def test_a_model_that_never_answers(bench: Bench, code: int, attempts: int) -> None:
    """A refusal ends the task at once, an outage when the attempts are used up."""
    agent = spoken(bench, answering(status(code)))
    task_id = bench.queue().submit("clean web-1")
    for _ in range(5):
        bench.work(agent)
        bench.clock.sleep(100)
    task = bench.checked(task_id)
    assert (TaskState.FAILED, attempts, f"the model's endpoint answered {code}") == (task.state, task.attempt, task.error)


def test_the_deadline_of_the_task(both: Bench) -> None:
    """It ends the run between two steps, with what was done recorded, and it is the same one after a crash."""
    agent = both.agent(slowly(both, 40, cleans))
    task = both.run(agent, deadline=both.clock.now() + timedelta(seconds=50))
    assert (TaskState.FAILED, 1, 2) == (task.state, task.attempt, len([m for m in both.messages(task.id) if m["role"] == "assistant"]))
    assert (80, 0) == (both.clock.elapsed, len(both.cloud.effects()))


@pytest.mark.parametrize("where", ["thinking", "tool"])
def test_cancelled_on_the_way(both: Bench, where: str) -> None:
    """The step under way is the last one: no further model is asked, no further tool runs."""
    asked: list[int] = []

    def cancel(*args: Any) -> str:
        both.queue().cancel(task_id)
        return "ok"

    def reply(messages: list[Message]) -> Message:
        asked.append(len(messages))
        if where == "thinking":
            cancel()
        return calls(("do", {}), ("clean_logs", {"host": "web-1"}))

    task_id = both.queue().submit("do it")
    agent = both.agent(reply, {"do": tool(cancel if where == "tool" else lambda given, key: "ok")})
    worker = both.work(agent)
    assert (TaskState.CANCELLED, 1, 1, 0) == (both.checked(task_id).state, worker.cancelled, len(asked), len(both.cloud.effects()))
    assert len(both.messages(task_id)) <= 3


def test_a_worker_that_stops(both: Bench) -> None:
    """It gives the task back between two steps, the attempt does not count, and another one goes on without doing anything twice."""
    stopping: list[Worker] = []

    def reply(messages: list[Message]) -> Message:
        if results(messages):
            stopping[0].stop()
        return cleans(messages)

    task_id = both.queue().submit("clean web-1", max_attempts=1)
    stopping.append(Worker(both.queue(), both.agent(reply), "w1", every=both.ticks))
    stopping[0].run_until_idle()
    assert (TaskState.PENDING, 1, 0) == (both.checked(task_id).state, len(both.tool_texts(task_id)), stopping[0].lost)
    both.work(both.agent(cleans), "w2")
    assert (TaskState.COMPLETED, 1, 2) == (both.checked(task_id).state, len(both.cloud.effects()), len(both.tool_texts(task_id)))


@pytest.mark.parametrize("where", ["thinking", "tool"])
def test_a_worker_that_slept_past_its_lease(both: Bench, where: str) -> None:
    """Another one has finished meanwhile. It wakes in its step, ends that under the same key, writes nothing over and asks nobody more."""
    asked: list[int] = []
    cleaning = asks_once(("clean_logs", {"host": "web-1"}))

    def oversleep() -> None:
        both.ticks.frozen = True
        both.clock.sleep(61)
        both.work(both.agent(cleaning), "w2")

    def reply(messages: list[Message]) -> Message:
        asked.append(len(messages))
        if where == "thinking":
            oversleep()
        return cleaning(messages)

    def slow(given: dict[str, Any], key: str) -> str:
        oversleep()
        return both.cloud.clean_logs(given["host"], key=key)

    task_id = both.queue().submit("clean web-1")
    known = disk_tools(both.cloud)["clean_logs"]
    zombie = both.work(both.agent(reply, {"clean_logs": replace(known, run=slow) if where == "tool" else known}))
    assert (TaskState.COMPLETED, 1, 0, 1) == (both.checked(task_id).state, zombie.lost, zombie.done, len(asked))
    assert (1, 4, "done") == (len(both.cloud.effects()), len(both.messages(task_id)), both.messages(task_id)[-1]["content"])


def test_a_journal_that_has_lost_a_message(bench: Bench) -> None:
    """It is no other process: the attempt ends with an error instead of going round for ever."""
    task_id = bench.queue().submit("clean web-1", max_attempts=1)
    journal = ToolJournal(bench.engine, task_id)
    for role in ("user", "user"):
        journal.append({"role": role, "content": "go"})
    with bench.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM messages WHERE seq = 1")
    bench.work(bench.agent(cleans))
    assert (TaskState.FAILED, True) == (bench.queue().get(task_id).state, "another process has written" in (bench.queue().get(task_id).error or ""))


def test_another_agent_changes_the_plan(bench: Bench) -> None:
    """What a call found is learned on top of what others have written meanwhile: nothing of theirs is lost."""

    def run(given: dict[str, Any], key: str) -> str:
        AgentStates(bench.engine).patch("ops", task_id, StatePatch(plan=["do", "tell them"], facts=[Fact(key="a", value="b")]))
        return "ok"

    task_id = bench.queue().submit("go")
    bench.work(bench.agent(asks_once(("do", {})), {"do": tool(run)}))
    state = bench.state(task_id)
    assert (TaskState.COMPLETED, ["tell them"], ["a", "do {}"]) == (bench.checked(task_id).state, state.plan, [fact.key for fact in state.known_facts])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_checkpoints(both: Bench, strategy: str) -> None:
    """Saved as the strategy says; after a crash the run goes on from its journal, also where every checkpoint is damaged."""
    store = CheckpointStore(both.engine)
    manager = CheckpointManager(store, both.clock, strategy=strategy, max_age=timedelta(days=1), max_count=100)
    crashed: list[bool] = []

    def reply(messages: list[Message]) -> Message:
        if len(results(messages)) == 1 and not crashed:
            crashed.append(True)
            raise KeyboardInterrupt
        return cleans(messages)

    task_id = both.queue().submit("clean web-1")
    with pytest.raises(KeyboardInterrupt):
        both.work(both.agent(reply, checkpoints=manager))
    saved = store.load(task_id)
    assert {"every_step": 1, "every_iteration": 2, "on_state_change": 1}[strategy] == len(saved)
    assert "running" == saved[-1].data["state"]
    assert "clean web-1" == saved[-1].data["extra"]["state"]["goal"]
    with both.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE checkpoints SET data = '{}'")
    both.clock.sleep(61)
    both.work(both.agent(reply, checkpoints=manager))
    assert (TaskState.COMPLETED, 1) == (both.checked(task_id).state, len(both.cloud.effects()))
    assert {"every_step": 2, "every_iteration": 4, "on_state_change": 2}[strategy] == len(store.load(task_id))


def test_a_state_that_no_checkpoint_holds(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Another agent has put a NUL into it: there is a line in the log and no checkpoint, and the run goes on."""
    store = CheckpointStore(bench.engine)
    manager = CheckpointManager(store, bench.clock, strategy="every_step", max_age=timedelta(days=1), max_count=100)

    def run(given: dict[str, Any], key: str) -> str:
        AgentStates(bench.engine).patch("ops", task_id, StatePatch(facts=[Fact(key="a", value="b\x00")]))
        return "ok"

    task_id = bench.queue().submit("go")
    bench.work(bench.agent(asks_once(("do", {})), {"do": tool(run)}, checkpoints=manager))
    assert (TaskState.COMPLETED, []) == (bench.checked(task_id).state, store.load(task_id))
    assert "no checkpoint" in caplog.text


def test_a_checkpoint_store_that_is_busy(bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A picture for people is missing, which the log says; the run and its effect are not held up by it."""

    def busy(*args: Any, **more: Any) -> None:
        raise StoreBusy

    monkeypatch.setattr(CheckpointStore, "append_and_prune", busy)
    manager = CheckpointManager(CheckpointStore(bench.engine), bench.clock, strategy="every_step", max_age=timedelta(days=1), max_count=100)
    task = bench.run(bench.agent(cleans, checkpoints=manager))
    assert (TaskState.COMPLETED, 1, 1, True) == (task.state, task.attempt, len(bench.cloud.effects()), "no checkpoint" in caplog.text)


@pytest.mark.parametrize("error", [StoreBusy, StaleJournal])
def test_what_was_spent_on_a_message_that_could_not_be_written(bench: Bench, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """It was paid for all the same: the write that goes through counts it, in tokens and in time."""
    troubles, append = [True, True], ToolJournal.append

    def troubled(journal: ToolJournal, message: Message, cost: Cost) -> None:
        if message["role"] == "assistant" and troubles:
            troubles.pop()
            raise error
        append(journal, message, cost)

    monkeypatch.setattr(ToolJournal, "append", troubled)
    task_id = bench.queue(max_attempts=9).submit("clean web-1")
    for _ in range(3):
        bench.work(bench.agent(slowly(bench, 10, lambda messages: says("x" * 4_000))))
        bench.clock.sleep(100)
    cost = ToolJournal(bench.engine, task_id).cost()
    assert (TaskState.COMPLETED, 30_000, True) == (bench.checked(task_id).state, cost.millis, cost.tokens > 3_000)


def test_a_call_that_ends_otherwise_when_it_is_made_again(both: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash came between learning and recording: what is known last is what the conversation says, and the step is done."""
    answers, settle = [ValueError("not now"), "cleaned"], ToolJournal.settle

    def run(given: dict[str, Any], key: str) -> str:
        if isinstance(said := answers.pop(0), Exception):
            raise said
        return str(said)

    def crash(*args: Any) -> str:
        monkeypatch.setattr(ToolJournal, "settle", settle)
        raise KeyboardInterrupt

    monkeypatch.setattr(ToolJournal, "settle", crash)
    agent = both.agent(asks_once(("do", {})), {"do": tool(run)}, begin=lambda task: AgentState(goal="go", plan=["do"], constraints=UNWATCHED))
    task_id = both.queue().submit("go")
    with pytest.raises(KeyboardInterrupt):
        both.work(agent)
    both.clock.sleep(61)
    both.work(agent, "w2")
    state = both.state(task_id)
    assert (TaskState.COMPLETED, ["cleaned"], []) == (both.checked(task_id).state, both.tool_texts(task_id), state.plan)
    assert ["error: ValueError: not now", "cleaned"] == [fact.value for fact in state.known_facts]


def test_what_was_cut_can_be_read(both: Bench) -> None:
    """The model sees all results of its last message before anything is cut, and reads what it was shown in part to its end, without asking anybody."""
    seen: list[str] = []
    read: list[str] = []

    def reply(messages: list[Message]) -> Message:
        got = [text for name, text in results(messages) if name == "read_artifact"]
        if not results(messages):
            return calls(*[("do", {"what": str(number)}) for number in range(6)])
        seen.append("".join(message["content"][:4] for message in messages if message["role"] == "tool"))
        read.extend(text.rpartition("\n")[0] for text in got[-1:])
        if got and "this is the end" in got[-1]:
            return says("".join(read))
        start = int(got[-1].rpartition("start=")[2].rstrip("]")) if got else 0
        return calls(("read_artifact", {"id": both.state(task_id).artifacts[0].artifact_id, "start": start}))

    texts = [f"r{number}: " + "ä" * 900 for number in range(5)] + ["\N{ROCKET}x" * 2_000]
    task_id = both.queue().submit("look")
    both.work(both.agent(reply, {"do": tool(lambda given, key: texts[int(given["what"])])}, budget=Budget(max_artifact_bytes_in_context=0)))
    assert (TaskState.COMPLETED, texts[5]) == (both.checked(task_id).state, both.queue().get(task_id).result)
    assert "r0: r1: r2: r3: r4: " == seen[0][:20]


@pytest.mark.parametrize("given", [{"id": "0" * 32}, {"id": ""}, {"id": "\x00"}, {}, {"id": "0", "start": -1}])
def test_an_artifact_that_is_not_there(bench: Bench, given: dict[str, Any]) -> None:
    """The model is told so in a line."""
    task = bench.run(bench.agent(asks_once(("read_artifact", given)), {}))
    assert (TaskState.COMPLETED, True) == (task.state, bench.tool_texts(task.id)[0].startswith("error: "))


@pytest.mark.parametrize(
    ("died_at", "state"),
    [(1, TaskState.COMPLETED), (2, TaskState.COMPLETED), (9, TaskState.FAILED)],
)
def test_reclaimed_after_a_crash(both: Bench, died_at: int, state: TaskState) -> None:
    """The lease of a dead worker ends, the next one goes on; a task that kills each of them is buried, with one last event too."""
    asked = [0]

    def reply(messages: list[Message]) -> Message:
        asked[0] += 1
        if died_at in (asked[0], 9):
            raise KeyboardInterrupt
        return cleans(messages)

    task_id = both.queue().submit("clean web-1", max_attempts=2)
    for name in ("w1", "w2", "w3"):
        try:
            both.work(both.agent(reply), name)
        except KeyboardInterrupt:
            both.clock.sleep(61)
    assert (state, int(state == "completed")) == (both.checked(task_id).state, len(both.cloud.effects()))


def test_a_handler_among_others(bench: Bench) -> None:
    """An agent may be one of several handlers, and says who it is in one line."""
    agent = bench.agent(cleans)
    assert "<Agent ops, 2 tools>" == repr(agent)
    bench.queue().submit("mail bob")
    task_id = bench.queue().submit("clean web-1")
    bench.work({"clean": agent, "mail": lambda job: "sent"})
    assert "web-1 is clean" == bench.checked(task_id).result


def test_a_first_state_that_is_none(bench: Bench) -> None:
    """A `begin` that gives no state ends the task once, with a word of what is wrong."""
    task = bench.run(bench.agent(cleans, begin=lambda task: {"goal": "x"}))
    assert (TaskState.FAILED, 1, "state must be an AgentState, not dict") == (task.state, task.attempt, task.error)


@pytest.fixture
def worker_process(sqlite: Engine, tmp_path: Any) -> Iterator[subprocess.Popen[str]]:
    """`labkit worker` with the agent of `tests.agent.app`, in a process of its own."""
    url = sqlite.url.render_as_string()
    command = [sys.executable, "-m", "labkit", "worker", "--database-url", url, "--app", "tests.agent.app:agent", "--workers", "1"]
    environment = {**os.environ, "DATABASE_URL": url, "LEDGER": str(tmp_path / "ledger.jsonl")}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_a_real_process(bench: Bench, worker_process: subprocess.Popen[str], tmp_path: Any) -> None:
    """The agent in a worker of the command line: asks a person who is in another process, goes on after the yes, and stops when it is told to."""
    queue = TaskQueue(bench.engine)
    task_id = queue.submit("clean web-1")
    until(lambda: queue.get(task_id).state is TaskState.WAITING)
    approve(queue, task_id, queue.question(task_id).text)
    until(lambda: queue.get(task_id).state is TaskState.COMPLETED)
    assert ("web-1 is clean", ["clean_logs"]) == (bench.checked(task_id).result, [effect.name for effect in FileLedger(tmp_path / "ledger.jsonl").entries()])
    worker_process.terminate()
    assert 0 == worker_process.wait(60)


def test_what_people_add_reaches_the_model(both: Bench) -> None:
    """Between two questions, once, in order, also over a restart; the history stays one that the chat API takes."""
    queue = both.queue()
    task_id = queue.submit("look at web-1")

    def reply(messages: list[Message]) -> Message:
        if not results(messages):
            queue.amend(task_id, "and at web-2")
            return calls(("check_disk", {"host": "web-1"}))
        added = [message["content"] for message in messages if message["role"] == "user"][1:]
        return says(f"looked; {added}")

    worker = Worker(queue, both.agent(reply), "w1", every=both.ticks)
    assert 1 == worker.run_until_idle()
    assert "looked; ['and at web-2']" == queue.get(task_id).result
    assert [] == history_faults(ToolJournal(both.engine, task_id).messages())


def test_what_comes_with_the_last_word(both: Bench) -> None:
    """What was added while the model said its last word is answered too: it was not the last one."""
    queue = both.queue()
    task_id = queue.submit("look at web-1")

    def reply(messages: list[Message]) -> Message:
        added = [message["content"] for message in messages if message["role"] == "user"][1:]
        if not added:
            queue.amend(task_id, "and at web-2")
        return says(f"looked; {added}")

    both.work(both.agent(reply))
    assert "looked; ['and at web-2']" == both.checked(task_id).result
