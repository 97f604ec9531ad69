"""What the tests of the agent share: two agents of the running story, and what must be true of each of their runs, however often a process died."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from labkit.agent.approval import approve
from labkit.agent.cloud_tools import deployment_tools, disk_tools
from labkit.agent.conversation import Message
from labkit.agent.history import history_faults
from labkit.agent.loop import Agent
from labkit.agent.model import open_client
from labkit.agent.script import ScriptedModel, calls, results, says
from labkit.agent.state import AgentState, Constraints, HumanInTheLoop
from labkit.faults import End, Process, Scenario, every_process_ends
from labkit.queue import TaskQueue
from labkit.queue.job import Ask, Job
from labkit.store.contract import error_text
from labkit.task import Task, TaskState

DEPLOYED = ("create_namespace", "deploy_container", "configure_route")
UNWATCHED = Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[]))


def _worked(messages: list[Message]) -> list[str]:
    """The tools that have done what they were asked for."""
    return [name for name, text in results(messages) if not text.startswith("error")]


def cleans(messages: list[Message]) -> Message:
    """Looks at the disk, cleans it, says how it went; asks again for what went wrong."""
    left = [name for name in ("check_disk", "clean_logs") if name not in _worked(messages)]
    return calls((left[0], {"host": "web-1"})) if left else says("web-1 is clean")


def cleans_at_once(messages: list[Message]) -> Message:
    """One effect and one word."""
    return says("clean") if _worked(messages) else calls(("clean_logs", {"host": "web-1"}))


def deploys(messages: list[Message]) -> Message:
    """Asks for three effects and one tool that does not exist, all in one message."""
    left = [name for name in DEPLOYED if name not in _worked(messages)]
    asked = left if results(messages) else ["create_namespace", "deploy_container", "call_mother", "configure_route"]
    return calls(*((name, {"app": "shop"}) for name in asked)) if left else says("shop is up")


def unwatched(task: Task) -> AgentState:
    """A first state in which nothing needs a person's word."""
    return AgentState(goal=task.user_input, constraints=UNWATCHED)


def agent_of(process: Process, reply: Callable[[list[Message]], Message], **more: Any) -> Agent:
    """An agent whose model, tools and database are behind the process's gate."""
    tools = disk_tools(process.cloud) | deployment_tools(process.cloud)
    client = open_client(http=process.http(ScriptedModel(reply)), environ={})
    return Agent("ops", process.engine, client, tools, process.clock, **({"begin": unwatched} | more))


def warm() -> None:
    """Ask a model once: what the client makes at its first question need not be made in each killed process."""
    client = open_client(lambda messages: says("hello"), environ={})
    client.chat.completions.create(model="any", messages=[{"role": "user", "content": "hello"}])


def claimed(process: Process) -> None:
    """The scene: one task, and somebody who holds it."""
    queue = TaskQueue(process.engine, clock=process.clock, new_id=lambda: "t1")
    queue.submit("do it")
    queue.claim("w1")


def attempt(process: Process, agent: Agent) -> str:
    """One attempt at the task as a worker makes it, by whoever has the lease; a restarted process has it still."""
    queue = TaskQueue(process.engine, clock=process.clock)
    task = queue.get("t1")
    if task.state is not TaskState.RUNNING:
        return str(task.state)
    job = Job(queue, task)
    try:
        result = agent(job)
    except Ask as asked:
        queue.park(job.lease, str(asked))
        return "waiting"
    except Exception as error:
        queue.fail(job.lease, error_text(error))
        raise
    return str(queue.complete(job.lease, result).state)


def works(reply: Callable[[list[Message]], Message], **more: Any) -> Callable[[Process], str]:
    """The body of a process that makes one attempt."""
    return lambda process: attempt(process, agent_of(process, reply, **more))


def with_a_person(process: Process) -> str:
    """An attempt, the person's yes if one is asked for, and the attempt after it."""
    agent = agent_of(process, cleans_at_once, begin=lambda task: AgentState(goal=task.user_input))
    queue = TaskQueue(process.engine, clock=process.clock)
    if attempt(process, agent) == "waiting":
        approve(queue, "t1")
    if queue.get("t1").state is TaskState.PENDING:
        queue.claim("w1")
    return attempt(process, agent)


def effects_once(*names: str) -> Callable[[End], str | None]:
    """An invariant: when the last process has returned these effects are there, each once, and nothing else."""

    def invariant(end: End) -> str | None:
        made = Counter(effect.name for effect in end.effects)
        doubled = [name for name, times in made.items() if times > 1]
        if doubled:
            return f"{doubled[0]} happened twice"
        if end.last.how == "returned" and end.last.value == "completed" and set(made) != set(names):
            return f"completed with {sorted(made)}"
        return None

    return invariant


def history_is_valid(end: End) -> str | None:
    """An invariant: the chat API would take the conversation at any time, and at the end no call is open."""
    rows = sorted(end.rows.get("messages", ()), key=lambda row: row["seq"])
    messages = [json.loads(row["message"]) for row in rows]
    faults = history_faults(messages, running=not done(end)) if messages else []
    return faults[0] if faults else None


def one_terminal_event(end: End) -> str | None:
    """An invariant: the end of a task is told once, and nothing comes after it."""
    told = [row["status"] for row in sorted(end.rows.get("progress_log", ()), key=lambda row: row["position"])]
    terminal = [place for place, status in enumerate(told) if status in ("completed", "error")]
    if end.last.how == "returned" and end.last.value in ("completed", "failed") and terminal != [len(told) - 1]:
        return f"terminal events at {terminal} of {len(told)}"
    return None


INVARIANTS = (history_is_valid, one_terminal_event, every_process_ends)


def done(end: End) -> bool:
    """The goal: some run completes."""
    return end.last.how == "returned" and end.last.value == "completed"


def scenario(name: str, run: Callable[[Process], str], *effects: str) -> Scenario:
    """One task that somebody holds, and what must be true of every run."""
    return Scenario(f"agent.{name}", run, [effects_once(*effects), *INVARIANTS], claimed, goal=done)


SHORT = scenario("short", works(cleans_at_once), "clean_logs")
DISK = scenario("disk", works(cleans), "clean_logs")
DEPLOYMENT = scenario("deployment", works(deploys), *DEPLOYED)
APPROVED = scenario("approved", with_a_person, "clean_logs")


def _forgets_the_key(process: Process) -> str:
    tool = disk_tools(process.cloud)["clean_logs"]
    deaf = replace(tool, run=lambda given, key: process.cloud.clean_logs(given["host"]))
    return attempt(process, replace(agent_of(process, cleans_at_once), tools={"clean_logs": deaf}))


def _key_of_the_attempt(process: Process) -> str:
    tool = disk_tools(process.cloud)["clean_logs"]
    own = replace(tool, run=lambda given, key: process.cloud.clean_logs(given["host"], key=f"{process.name}:{key}"))
    return attempt(process, replace(agent_of(process, cleans_at_once), tools={"clean_logs": own}))


PLANTED = [
    scenario("forgets_the_key", _forgets_the_key, "clean_logs"),
    scenario("key_of_the_attempt", _key_of_the_attempt, "clean_logs"),
    scenario("claims_more", works(cleans_at_once), "clean_logs", "send_mail"),
]
