"""What the tests of whole runs share: an agent on a virtual clock, workers without threads, and what a run leaves behind.

Not handled here: simulated processes (see `worlds`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from labkit.agent.cloud_tools import disk_tools
from labkit.agent.history import history_faults
from labkit.agent.journal import ToolJournal
from labkit.agent.loop import Agent
from labkit.agent.model import open_client
from labkit.agent.script import Message, calls, results, says
from labkit.agent.state import AgentState, Budget
from labkit.agent.states import AgentStates
from labkit.agent.tools import Arguments, Tool
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.queue import TaskQueue, Worker
from labkit.task import Task, TaskState
from tests.agent.worlds import UNWATCHED
from tests.queue.helpers import Ticks

Reply = Callable[[list[Message]], Message]


class Anything(Arguments):
    """One field, which may be missing."""

    what: str = ""


@dataclass
class Bench:
    """One database, one clock, one cloud, and agents and workers on them."""

    engine: Engine
    clock: VirtualClock

    def __post_init__(self) -> None:
        self.ledger = MemoryLedger()
        self.cloud = Cloud(self.ledger, self.clock)
        self.ticks = Ticks(self.clock)

    def queue(self, **more: Any) -> TaskQueue:
        """A new queue object, as another process would have it."""
        return TaskQueue(self.engine, clock=self.clock, now=self.clock.now, **more)

    def agent(self, reply: Reply, tools: Mapping[str, Tool] | None = None, *, watched: bool = False, budget: Budget | None = None, **more: Any) -> Agent:
        """An agent whose model is `reply`; `watched` ones ask before each risky call."""

        def begin(task: Task) -> AgentState:
            rules = {} if watched else {"constraints": UNWATCHED}
            return AgentState(goal=task.user_input, budget=budget or Budget(), plan=["check_disk web-1", "clean_logs web-1"], **rules)

        used = disk_tools(self.cloud) if tools is None else tools
        return Agent("ops", self.engine, open_client(reply, environ={}), used, self.clock, **({"begin": begin, "model": "any"} | more))

    def work(self, agent: Any, name: str = "w1", **more: Any) -> Worker:
        """Let a new worker on a new queue object do what is due."""
        worker = Worker(self.queue(), agent, name, every=self.ticks, **more)
        worker.run_until_idle()
        return worker

    def run(self, agent: Any, goal: str = "clean web-1", **options: Any) -> Task:
        """Submit a task, let it be done, and check what must hold of every run."""
        task_id = self.queue().submit(goal, **options)
        self.work(agent)
        return self.checked(task_id)

    def checked(self, task_id: str) -> Task:
        """The task, after the checks that hold for every run: a history without a fault, and one last event if it has ended."""
        task = self.queue().get(task_id)
        ended = task.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
        messages = self.messages(task_id)
        assert not messages or [] == history_faults(messages, running=task.state != TaskState.COMPLETED)
        told = [update.status for update in self.told(task_id)]
        assert [told[-1]] * ended == [status for status in told if status in ("completed", "error")]
        return task

    def told(self, task_id: str) -> list[Any]:
        return [update for _, update in self.queue().progress.history(task_id)]

    def messages(self, task_id: str) -> list[Message]:
        return ToolJournal(self.engine, task_id).messages()

    def state(self, task_id: str) -> AgentState:
        return AgentStates(self.engine).get("ops", task_id).state

    def tool_texts(self, task_id: str) -> list[str]:
        return [text for _, text in results(self.messages(task_id))]


def tool(run: Callable[..., Any], name: str = "do", *, keyed: bool = True, risk: str = "external_action") -> Tool:
    """A tool that takes anything."""
    return Tool(name, "Does something.", run, Anything, risk, keyed=keyed)  # type: ignore[arg-type]


def asks_once(*asked: tuple[str, Any], then: str = "done") -> Reply:
    """Asks for these calls in one message, then ends."""
    return lambda messages: says(then) if results(messages) else calls(*asked)


def raw(*asked: tuple[str, Any]) -> Message:
    """A message that asks for tools with arguments exactly as they are given here."""
    function = [{"name": name, "arguments": arguments} for name, arguments in asked]
    return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": one} for one in function]}


def cleans(messages: list[Message]) -> Message:
    """Looks, cleans, says so."""
    got = len(results(messages))
    return says("web-1 is clean") if got == 2 else calls((("check_disk", "clean_logs")[got], {"host": "web-1"}))
