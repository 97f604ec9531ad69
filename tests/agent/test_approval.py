"""A person's word: asked once, kept over restarts, for one call alone; a yes, a no that the model hears, or nothing that counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic import field_validator
from sqlalchemy import Engine

from labkit.agent.approval import answer, approve, person_tool, question_after, question_for, refuse, undecided
from labkit.agent.cloud_tools import disk_tools
from labkit.agent.conversation import ToolCall
from labkit.agent.script import Message, calls, results, says
from labkit.agent.state import AgentState, Constraints, HumanInTheLoop, RiskLevel
from labkit.agent.tools import Arguments, toolbox
from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import InvalidTransition, TaskNotFound, TransientError, UnstorableValue, UsageError
from labkit.faults import End, Process, Scenario, interleave
from labkit.queue import Lease, TaskQueue
from labkit.queue.park import Question
from labkit.task import TaskState
from tests.agent.runs import Bench, asks_once, cleans, raw, tool


@pytest.fixture
def bench(sqlite: Engine, clock: VirtualClock) -> Bench:
    return Bench(sqlite, clock)


@pytest.fixture
def both(engine: Engine, clock: VirtualClock) -> Bench:
    """The same on either database."""
    return Bench(engine, clock)


def waits(bench: Bench, task_id: str) -> str:
    """The question of a task that waits, which its state holds as the one that is open."""
    asked = bench.queue().question(task_id).text
    assert (TaskState.WAITING, [asked]) == (bench.checked(task_id).state, bench.state(task_id).open_questions)
    assert asked
    return asked


def test_a_yes(both: Bench) -> None:
    """The task waits without a worker, and another process, that has nothing of the first but the database, goes on with it after the yes."""
    task = both.run(both.agent(cleans, watched=True))
    asked = waits(both, task.id)
    assert 'May clean_logs {"host": "web-1"} run? (write local, turn2_call1)' == asked
    assert ([], None) == (list(both.cloud.effects()), task.worker_id)
    both.clock.sleep(100_000)
    both.work(both.agent(cleans, watched=True), "w2")
    assert asked == waits(both, task.id)
    other = Bench(open_engine(both.engine.url), both.clock)
    assert TaskState.PENDING == approve(other.queue(), task.id).state
    other.work(other.agent(cleans, watched=True), "w2")
    done = other.checked(task.id)
    assert (TaskState.COMPLETED, "web-1 is clean", 1, []) == (done.state, done.result, len(other.cloud.effects()), other.state(task.id).open_questions)
    other.engine.dispose()


@pytest.mark.parametrize("said", ["refused", "refused: not on a Friday", "no", "No, wait", " refuse.", "NO! Never.\nNever."])
def test_a_no(bench: Bench, said: str) -> None:
    """Nothing happens, the model hears what the person said, and goes on."""
    task = bench.run(bench.agent(cleans, watched=True))
    reason = said.partition(": ")[2]
    if said.startswith("refused"):
        refuse(bench.queue(), task.id, reason)
    else:
        answer(bench.queue(), task.id, said)
    bench.work(bench.agent(cleans, watched=True))
    assert (TaskState.COMPLETED, f"not run, a person said: {said}") == (bench.checked(task.id).state, bench.tool_texts(task.id)[1])
    assert ([], [], ["refused: clean_logs"]) == (list(bench.cloud.effects()), bench.state(task.id).open_questions, bench.state(task.id).risk_flags)


@pytest.mark.parametrize("said", ["approved", " Yes\n", "YES", "ok", "yes.", "Yes!", "approve", "OK !"])
def test_ways_to_say_yes(bench: Bench, said: str) -> None:
    """In large letters, and with a full stop, too."""
    task = bench.run(bench.agent(cleans, watched=True))
    answer(bench.queue(), task.id, said)
    bench.work(bench.agent(cleans, watched=True))
    assert (TaskState.COMPLETED, 1) == (bench.checked(task.id).state, len(bench.cloud.effects()))


@pytest.mark.parametrize("said", ["", "approved, but later", "да", "yes no", "no idea", "y", "maybe\nnot", "\x00", "yes" + " " * 1_000_000 + "x"])
def test_neither_yes_nor_no(bench: Bench, said: str) -> None:
    """One line says so to whoever said it, the question stays open, and a yes after it counts."""
    task_id = bench.run(bench.agent(cleans, watched=True)).id
    asked = waits(bench, task_id)
    for to in (None, asked):
        with pytest.raises(UsageError) as told:
            answer(bench.queue(), task_id, said, to)
        line = str(told.value)
        assert (True, 1, True) == ("is neither yes nor no" in line, len(line.splitlines()), len(line) < 220)
    assert asked == waits(bench, task_id)
    answer(bench.queue(), task_id, "ok", asked)
    bench.work(bench.agent(cleans, watched=True))
    assert (TaskState.COMPLETED, 1) == (bench.checked(task_id).state, len(bench.cloud.effects()))


def test_neither_yes_nor_no_past_the_agent(both: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The queue knows no agents: what it was given is nothing that counts, the same question is put again, and what was said is in no log."""
    task_id = both.run(both.agent(cleans, watched=True)).id
    asked = waits(both, task_id)
    both.queue().answer(task_id, "go ahead, the password is swordfish")
    both.work(both.agent(cleans, watched=True))
    assert (asked, None, []) == (waits(both, task_id), both.queue().question(task_id).answer, list(both.cloud.effects()))
    assert "neither yes nor no" in caplog.text
    assert "swordfish" not in caplog.text
    approve(both.queue(), task_id)
    both.work(both.agent(cleans, watched=True))
    assert (TaskState.COMPLETED, 1) == (both.checked(task_id).state, len(both.cloud.effects()))


def test_which_questions_want_a_yes_or_a_no() -> None:
    """Those of risky calls and of second runs, whatever the arguments hold; none that a model asks, even in the same words."""
    asked: list[str] = []
    person = person_tool(lambda question: asked.append(question) or "")  # type: ignore[func-returns-value]
    for arguments in ("{}", "{)\n(", "x" * 5_000):
        one = ToolCall("turn1_call1", "do", arguments)
        for level in RiskLevel:
            wanted = question_for(one, tool(lambda given, key: "ok", risk=level))
            person({"question": wanted}, "t1:turn1_call1")
            assert undecided(wanted, "well")
        assert undecided(question_after(one, 1), "well")
        for begun in (1, 2):
            person({"question": question_after(one, begun).removesuffix(" (turn1_call1)")}, "t1:turn1_call1")
        assert undecided(question_after(one, 2), "well")
    assert not any(undecided(question, "well") for question in [*asked, "Which host? (turn1_call1)", "", None])


class Overslept(Arguments):
    """Reading it takes longer than the lease, once."""

    what: str = ""

    @field_validator("what")
    @classmethod
    def later(cls, what: str) -> str:
        if MEANWHILE:
            MEANWHILE.pop()()
        return what


MEANWHILE: list[Callable[[], object]] = []


@pytest.mark.parametrize("how_far", range(3))
def test_a_question_of_somebody_who_lost_the_lease(both: Bench, how_far: int) -> None:
    """He is about to ask what his successor has asked by now, or was told, or has left behind: no question is left open that is not asked."""
    do = replace(tool(lambda given, key: both.cloud.clean_logs("web-1", key=key)), arguments=Overslept)
    agent = both.agent(asks_once(*[("do", {"what": "x"})] * 2), {"do": do}, watched=True)
    task_id = both.queue().submit("do it")

    def goes_on(yeses: int) -> None:
        both.work(agent, "w2")
        for _ in range(yeses):
            waits(both, task_id)
            approve(both.queue(), task_id)
            both.work(agent, "w2")

    def meanwhile() -> None:
        both.ticks.frozen = True
        both.clock.sleep(61)
        goes_on(how_far)

    MEANWHILE.append(meanwhile)
    zombie = both.work(agent)
    both.ticks.frozen = False
    assert (1, []) == (zombie.lost, MEANWHILE)
    goes_on(2 - how_far)
    assert (TaskState.COMPLETED, 2, []) == (both.checked(task_id).state, len(both.cloud.effects()), both.state(task_id).open_questions)


def test_two_calls_in_one_message(both: Bench) -> None:
    """Each needs a word of its own; the yes to one is none to the other, also where they ask for the same."""
    agent = both.agent(asks_once(*[("clean_logs", {"host": "a"})] * 2), watched=True)
    task_id = both.run(agent).id
    first = waits(both, task_id)
    approve(both.queue(), task_id, first)
    both.work(agent)
    second = waits(both, task_id)
    assert (first != second, 1) == (True, len(both.cloud.effects()))
    with pytest.raises(InvalidTransition):
        approve(both.queue(), task_id, first)  # somebody who has not seen the second question
    assert second == waits(both, task_id)
    refuse(both.queue(), task_id, to=second)
    both.work(agent)
    assert (TaskState.COMPLETED, 1) == (both.checked(task_id).state, len(both.cloud.effects()))


def test_a_yes_outlives_failures_of_its_call_and_its_process(bench: Bench) -> None:
    """The yes holds until the call has a result: over a crash before it, and over the tries of its tool."""
    troubles: list[BaseException] = [KeyboardInterrupt(), TransientError("later")]

    def run(given: dict[str, str], key: str) -> str:
        if troubles:
            raise troubles.pop(0)
        return bench.cloud.clean_logs("web-1", key=key)

    agent = bench.agent(asks_once(("do", {})), {"do": tool(run)}, watched=True)
    task_id = bench.run(agent).id
    approve(bench.queue(), task_id)
    with pytest.raises(KeyboardInterrupt):
        bench.work(agent)
    bench.clock.sleep(61)
    bench.work(agent, "w2")
    assert (TaskState.COMPLETED, 1) == (bench.checked(task_id).state, len(bench.cloud.effects()))


def test_a_failed_call_that_is_asked_for_again(bench: Bench) -> None:
    """It is another call, and needs another word."""

    def run(given: dict[str, str], key: str) -> str:
        raise ValueError("no such host")

    agent = bench.agent(lambda messages: calls(("do", {})), {"do": tool(run)}, watched=True)
    task_id = bench.run(agent).id
    asked = set()
    for _ in range(3):
        asked.add(waits(bench, task_id))
        approve(bench.queue(), task_id)
        bench.work(agent)
    assert 3 == len(asked)


@pytest.mark.parametrize("level", list(RiskLevel))
def test_which_risks_need_a_word(bench: Bench, level: RiskLevel) -> None:
    """Those that the state's constraints name, and no other; arguments that are wrong are nobody's question."""
    rules = Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[level]))
    tools = {risk.value: tool(lambda given, key: "ok", risk.value, risk=risk) for risk in RiskLevel}
    asked = [(risk.value, "{}") for risk in RiskLevel]
    reply = lambda messages: says("done") if results(messages) else raw((level.value, "[]"), *asked)  # noqa: E731
    agent = bench.agent(reply, tools, begin=lambda task: AgentState(goal="do it", constraints=rules))
    task_id = bench.run(agent).id
    assert level.value in waits(bench, task_id)
    approve(bench.queue(), task_id)
    bench.work(agent)
    assert (TaskState.COMPLETED, ["ok"] * 3) == (bench.checked(task_id).state, bench.tool_texts(task_id)[1:])


def test_a_question_of_the_model(bench: Bench) -> None:
    """The answer reaches the model as it was given, closes the question, and is not taken for the answer to the same question asked later."""

    def reply(messages: list[Message]) -> Message:
        got = [text for name, text in results(messages) if name == "ask_person"]
        return says(" and ".join(got)) if len(got) == 2 else calls(("ask_person", {"question": "Which host?\x00"}))

    agent = bench.agent(reply, watched=True)
    task_id = bench.run(agent).id
    for said in ("web-1", ""):
        waits(bench, task_id)
        answer(bench.queue(), task_id, said)
        bench.work(agent)
    assert "web-1 and " == bench.checked(task_id).result
    assert [] == bench.state(task_id).open_questions


def test_an_outage_while_a_person_is_asked(sqlite: Engine, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is busy is no answer of a person: the attempt is made again, and the model hears nothing of it."""
    bench, troubles = Bench(sqlite, clock), [1, 1, 1, 1]
    question = TaskQueue.question

    def busy(queue: TaskQueue, task_id: str) -> object:
        if troubles.pop() if troubles else False:
            raise TransientError("busy")
        return question(queue, task_id)

    agent = bench.agent(asks_once(("ask_person", {"question": "Which?"})))
    task_id = bench.queue().submit("do it", max_attempts=9)
    monkeypatch.setattr(TaskQueue, "question", busy)
    for _ in range(5):
        bench.work(agent)
        clock.sleep(60)
    assert not troubles
    waits(bench, task_id)
    answer(bench.queue(), task_id, "that one")
    bench.work(agent)
    assert (TaskState.COMPLETED, ["that one"]) == (bench.checked(task_id).state, bench.tool_texts(task_id))


def test_cancelled_while_it_waits(bench: Bench) -> None:
    """It ends with one last event, and no answer brings it back."""
    agent = bench.agent(cleans, watched=True)
    task_id = bench.run(agent).id
    bench.queue().cancel(task_id)
    with pytest.raises(InvalidTransition):
        approve(bench.queue(), task_id)
    assert 0 == bench.work(agent).done
    assert (TaskState.CANCELLED, []) == (bench.checked(task_id).state, list(bench.cloud.effects()))


def test_redriven(both: Bench) -> None:
    """A yes belongs to its run: one that failed afterwards, and is redriven, asks again. What was done in the old run is not done anew."""
    agent = both.agent(cleans, watched=True)
    task_id = both.run(agent, max_attempts=1).id
    approve(both.queue(), task_id)
    held = both.queue().claim("w9")
    assert held is not None
    both.queue().fail(Lease.of(held), "the machine is on fire")
    both.queue().redrive(task_id)
    both.work(agent)
    asked = both.queue().question(task_id)
    assert (TaskState.WAITING, None) == (both.queue().get(task_id).state, asked.answer)
    approve(both.queue(), task_id, asked.text)
    both.work(agent)
    assert (TaskState.COMPLETED, 1, 2) == (both.queue().get(task_id).state, len(both.cloud.effects()), len(both.tool_texts(task_id)))


def test_errors(bench: Bench) -> None:
    """Who answers nobody, or what no store can hold, is told; the task waits on."""
    agent = bench.agent(cleans, watched=True)
    task_id = bench.run(agent).id
    for act in (approve, refuse, lambda queue, name: answer(queue, name, "yes")):
        with pytest.raises(TaskNotFound):
            act(bench.queue(), "nobody")
    with pytest.raises(UnstorableValue):
        refuse(bench.queue(), task_id, "\x00")
    waits(bench, task_id)


def test_what_a_person_is_shown() -> None:
    """The call with its arguments as its tool gets them, some two thousand characters at most; no two calls and no two runs of one ask the same."""
    do = tool(lambda given, key: "ok")
    long = question_for(ToolCall("turn1_call1", "do", "x" * 5_000 + "\x00"), do)
    assert "[4008 characters more]" in long
    assert len(long) < 1_200
    call, other = ToolCall("turn1_call1", "do", "{}"), ToolCall("turn1_call2", "do", "{}")
    asked = [question_for(call, do), question_for(other, do), question_after(call, 1), question_after(call, 2), question_after(other, 1)]
    assert 5 == len(set(asked))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{' + " " * 2_000 + '"host": "production"}', '{"host": "production"}'),
        ('{"host"\r\n\t:"a\\r\\n\\u001b[2Jb"}', '{"host": "a\\r\\n\\u001b[2Jb"}'),
        ('{"host": "\u202ex\u2028\x9b\\ud800"}', '{"host": "\\u202ex\\u2028\\u009b\\ud800"}'),
        ('{"host": "bücher \U0001f680"}', '{"host": "bücher \U0001f680"}'),
        ('{"a": "' + "x" * 5_000 + '", "host": "production"}', '{"a": "' + "x" * 494 + ' [4507 characters more], "host": "production"}'),
        ('{"' + "x" * 5_000 + '": 1, "host": "production"}', '{"' + "x" * 499 + ' [4505 characters more], "host": "production"}'),
    ],
)
def test_arguments_that_would_hide(arguments: str, shown: str) -> None:
    """Neither blanks, nor a long field beside it, nor signs that a terminal obeys keep a person from seeing what the tool would get."""
    one, do = ToolCall("turn1_call1", "do", arguments), tool(lambda given, key: "ok")
    assert f"May do {shown} run? (external action, turn1_call1)" == question_for(one, do)
    assert question_after(one, 1).startswith(f"do {shown} was")
    assert question_for(one, do).isprintable()


def test_arguments_of_many_fields() -> None:
    """Each is shown by its beginning as long as there is room, and how much is left out is said."""
    many = question_for(ToolCall("turn1_call1", "do", json.dumps({f"f{number}": "x" * 90 for number in range(500)})), tool(lambda given, key: "ok"))
    assert ('"f0": "xxx' in many, '"f20": "xxx' in many, " characters more] run? (" in many, len(many) < 2_200) == (True,) * 4


def test_a_yes_to_what_was_read(bench: Bench) -> None:
    """Somebody reads a question, and others answer that before; his yes is none to the risky call that is asked about by now."""

    def reply(messages: list[Message]) -> Message:
        asked = [("ask_person", {"question": "Shall I look first?"}), ("clean_logs", {"host": "web-1"})]
        return says("done") if len(results(messages)) == 2 else calls(asked[len(results(messages))])

    class Slow(TaskQueue):
        def question(self, task_id: str) -> Question:
            read = super().question(task_id)
            answer(bench.queue(), task_id, "no")
            bench.work(agent)
            return read

    agent = bench.agent(reply, watched=True)
    task_id = bench.run(agent).id
    with pytest.raises(InvalidTransition):
        answer(Slow(bench.engine, clock=bench.clock, now=bench.clock.now), task_id, "yes")
    bench.work(agent)
    assert "clean_logs" in waits(bench, task_id)
    assert [] == list(bench.cloud.effects())


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_two_answers_at_once(database: str) -> None:
    """In every order one of them counts, and the other is told that it came too late."""

    def opened(process: Process) -> TaskQueue:
        return TaskQueue(process.engine, clock=process.clock, new_id=lambda: "t1")

    def scene(process: Process) -> None:
        opened(process).submit("deploy")
        opened(process).park(Lease.of(opened(process).claim("w1") or opened(process).get("t1")), "May it?")

    def says_yes(process: Process) -> str:
        try:
            return str(approve(opened(process), "t1", "May it?").state)
        except InvalidTransition:
            return "too late"

    def says_no(process: Process) -> str:
        try:
            return str(refuse(opened(process), "t1").state)
        except InvalidTransition:
            return "too late"

    def one_counts(end: End) -> str | None:
        said = [outcome.value for outcome in end.outcomes]
        (row,) = end.rows["task_options"]
        fine = {"pending": "approved", "too late": "refused"}.get(str(said[0])) == row["answer"] and sorted(map(str, said)) == ["pending", "too late"]
        return None if fine else f"{end.outcomes}, {json.dumps(row['answer'])}"

    made = Scenario("answers", [says_yes, says_no], [one_counts], setup=scene, goal=lambda end: end.outcomes[0].value == "too late")
    report = interleave(made, database, preemptions=1)
    assert "holds" == report.verdict, report


def test_ask_person_is_always_there(bench: Bench) -> None:
    """Also for an agent without any tool."""
    agent = bench.agent(asks_once(("ask_person", {"question": "Why?"})), toolbox())
    waits(bench, bench.run(agent).id)
    assert "ask_person" not in disk_tools(bench.cloud)
