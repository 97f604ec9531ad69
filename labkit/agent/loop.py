"""An agent that can die anywhere: whoever works on its task next goes on where it stopped, and no effect is made twice.

It is a handler for workers of the queue. The conversation is in the journal, what it knows is in the shared state, large results are in the artifact store, and
the task's lease says who may go on; nothing that matters is in memory. Model and tools are each asked again by a policy of their own, within
the task's deadline; the waits between are drawn, so agents that were turned away together do not come back together. A budget that is used up ends
the task as failed, with a risk flag, and not in the middle of a call. A call that needs a person's word parks the task; the queue writes the one
terminal event, with the state that ends it.

Whoever has lost the lease may finish what it was at, a question to the model or one call (under the key of that call), and is stopped when it next
tells those who watch. What it writes until then goes on from what is there, or is refused (`StaleJournal`); the holder goes on from that.

Not handled here: two conversations about one task; fencing the outside world: a tool without a key that a slow process has begun may end after a person
has said yes to another run; the moment between learning and recording a result, in which a slow process may add an open question or a fact of its own; and
the moment between the last look for what people added and the end of the task: what is added then is kept with the task, and no model reads it.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from labkit.agent.approval import ASK_PERSON, person_tool, undecided
from labkit.agent.artifacts import ArtifactStore
from labkit.agent.budget import EXHAUSTED, UNDER_PRESSURE, pressed, stop_if_spent, time_left, used
from labkit.agent.calls import Calls
from labkit.agent.conversation import Message, ToolCall, converse, turns
from labkit.agent.journal import ToolJournal
from labkit.agent.known import Known
from labkit.agent.meter import Meter
from labkit.agent.model import SECONDS, model_name
from labkit.agent.part import first_line
from labkit.agent.reader import READ_ARTIFACT, reading_tool
from labkit.agent.sent import to_send
from labkit.agent.state import AgentState
from labkit.agent.states import AgentStates
from labkit.agent.teller import Teller
from labkit.agent.tools import Tool, toolbox
from labkit.agent.turn import ask_model
from labkit.checkpoint import CheckpointManager
from labkit.clock import Clock
from labkit.database import in_one_line
from labkit.deadline import Deadline
from labkit.errors import (
    BudgetExhausted,
    DeadlineExceeded,
    ModelRefused,
    ModelUnavailable,
    StaleJournal,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    UnstorableValue,
    UsageError,
)
from labkit.queue.job import Ask, Job
from labkit.retry import RetryPolicy
from labkit.task import Task

if TYPE_CHECKING:
    import openai

_log = logging.getLogger("labkit.agent")
MODEL_POLICY = RetryPolicy(max_attempts=4, cap=30.0)  # with waits that are drawn, as the next one
TOOL_POLICY = RetryPolicy(max_attempts=3)


def _goal_alone(task: Task) -> AgentState:
    return AgentState(goal=task.user_input)


@dataclass(frozen=True)
class Agent:
    """A handler for a `Worker`: `Worker(queue, Agent(...), "w1")`. `name` is the agent's id in the shared states.

    `begin` makes the first state of a task, once: goal, plan, budget, which risks need a person's word. `rng` draws the waits of the policies of this
    module; without one each attempt has one of its own, made of the task's id, so tasks differ and runs do not. A policy that is given is used as it is.
    """

    name: str
    engine: Engine
    client: openai.OpenAI
    tools: Mapping[str, Tool]
    clock: Clock
    begin: Callable[[Task], AgentState] = _goal_alone
    model: str = field(default_factory=model_name)
    model_policy: RetryPolicy | None = None
    tool_policy: RetryPolicy | None = None
    checkpoints: CheckpointManager | None = None
    rng: random.Random | None = None

    def __post_init__(self) -> None:
        if dict(self.tools) != toolbox(*self.tools.values()) or {ASK_PERSON, READ_ARTIFACT} & self.tools.keys():
            raise UsageError(f"each tool stands under its own name, and {ASK_PERSON} and {READ_ARTIFACT} are there already")

    def __call__(self, job: Job) -> str:
        return _Run(self, job).to_the_end()

    def __repr__(self) -> str:
        return f"<Agent {self.name}, {len(self.tools)} tools>"


class _Run:
    """One attempt at one task. It is the journal that `converse` writes to: each message with what it cost."""

    def __init__(self, agent: Agent, job: Job) -> None:
        self._agent, self._job, self._task_id = agent, job, job.task.id
        self._journal = ToolJournal(agent.engine, self._task_id)
        artifacts = ArtifactStore(agent.engine)
        first = lambda: agent.begin(job.task)  # noqa: E731
        self._known = Known(AgentStates(agent.engine), artifacts, agent.name, self._task_id, first)
        tools = {**agent.tools, **toolbox(person_tool(self._ask), reading_tool(artifacts))}
        self._schemas = [tool.schema() for tool in tools.values()]
        rng = agent.rng or random.Random(f"labkit {self._task_id} {job.task.attempt}")
        self._model_policy = agent.model_policy or replace(MODEL_POLICY, rng=rng)
        self._calls = Calls(
            tools, self._journal, artifacts, self._known.state.constraints, self._ask, self._known.learn,
            agent.clock, agent.tool_policy or replace(TOOL_POLICY, rng=rng), job.deadline,
        )  # fmt: skip
        self._meter, self._call_id = Meter(self._journal, agent.clock), ""
        self._teller = Teller(agent.engine, job, begun=bool(self.messages()))

    def to_the_end(self) -> str:
        """The model's final answer."""
        self._checkpoint("on_state_change")
        try:
            return self._conversed()
        except DeadlineExceeded:
            self._meter.pay()
            self._budgeted()  # subtle: it may be the run's own time that is over, and not the task's
            raise
        except Exception:
            self._meter.pay()
            raise

    def _conversed(self) -> str:
        said = len(self.messages())
        while True:
            try:
                answer = converse(self, self._job.user_input, self._think, self._answer)
                # subtle: what somebody added while the model said its last word makes it no last word
                if self._amended(self.messages())[-1]["role"] == "assistant":
                    return answer
            except StaleJournal:
                # subtle: who holds the lease goes on from there; who does not hears of it at the next word to those who watch
                before, said = said, len(self.messages())
                if said == before:
                    raise

    def messages(self) -> list[Message]:
        return self._journal.messages()

    def append(self, message: Message) -> None:
        self._meter.append(message)
        self._checkpoint("every_step" if message["role"] == "tool" else "every_iteration")

    def _think(self, messages: list[Message]) -> Message:
        """Ask the model, unless the task is no longer worth it or a budget is used up."""
        self._job.check()
        messages = self._amended(messages)
        turn, (parts, left) = turns(messages) + 1, self._budgeted()
        request = to_send(messages, self._known.state)
        self._known.keep(request.wholes)
        if request.short or pressed(parts):
            self._known.flag(UNDER_PRESSURE)
        self._teller.tell(turn, "thinking")
        return self._said(request.messages, turn, left)

    def _budgeted(self) -> tuple[Mapping[str, float], Deadline]:
        """The parts of the budget that are spent, and when its time is over. Stops the run, with its flags, where one is used up."""
        budget, cost = self._known.state.budget, self._journal.cost()
        parts = used(self.messages(), cost, budget)
        try:
            stop_if_spent(parts, budget)
        except BudgetExhausted:
            self._known.flag(UNDER_PRESSURE, EXHAUSTED)
            raise
        return parts, time_left(budget, cost, self._agent.clock, self._job.deadline)

    def _said(self, sent: list[Message], turn: int, within: Deadline) -> Message:
        """The model's answer, asked for again as the policy says; whatever it cost is counted."""

        def ask() -> Message:
            try:
                said = ask_model(
                    self._agent.client, self._agent.model, sent, self._schemas, number=turn, seconds=within.for_step(SECONDS)
                )
            except (ModelUnavailable, ModelRefused) as error:
                self._meter.add(error.tokens)
                raise
            self._meter.add(said.tokens)
            return said.message

        return self._model_policy.run(ask, self._agent.clock, within)

    def _amended(self, messages: list[Message]) -> list[Message]:
        """The conversation with what people have added to the task since; the first word was the task itself."""
        taken = sum(message["role"] == "user" for message in messages) - 1
        for text in self._job.amendments()[taken:]:
            self.append({"role": "user", "content": text})
        return self.messages()

    def _answer(self, call: ToolCall) -> str:
        """Answer one call, and tell those who watch."""
        self._job.check()
        turn, self._call_id = turns(self.messages()), call.id
        told = self._calls.kept(call)
        if told is None:
            self._teller.tell(turn, "tool_call", tool=call.name)
            told = self._calls.make(call)
        self._teller.tell(turn, "tool_result", first_line(told), call.name)
        return told

    def _ask(self, question: str) -> str:
        """A person's answer; as long as there is none the question is open, and the task is parked."""
        try:
            said = self._job.ask(question)
            if undecided(question, said):
                _log.warning("task %s: told neither yes nor no, it asks again", self._task_id, extra={"task": self._task_id})
                raise Ask(question)
        except Ask:
            if self._journal.result(self._call_id) is None:  # else others went on, and it was answered to them
                self._known.asks(question)
            raise
        self._known.was_told(question)
        return said

    def _checkpoint(self, trigger: str) -> None:
        """A picture of the run, for people; it goes on from its journal, also where there can be no picture now."""
        if self._agent.checkpoints is None:
            return
        known = {"state": self._known.state.model_dump(mode="json"), "messages": len(self.messages())}
        try:
            self._agent.checkpoints.maybe_save(self._job.task, trigger, extra=known)
        except (UnstorableValue, StoreBusy, StoreFull, StoreCorrupt, SQLAlchemyError) as error:
            # of a state that another agent has filled with what no checkpoint holds, or in an outage
            _log.warning("task %s: no checkpoint: %s", self._task_id, in_one_line(error), extra={"task": self._task_id})
