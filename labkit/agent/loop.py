"""An agent that can die anywhere: whoever works on its task next goes on where it stopped, and no effect is made twice.

It is a handler for workers of the queue. The conversation is in the journal, what it knows is in the shared state, large results are in the artifact store, and
the task's lease says who may go on; nothing that matters is in memory. Model and tools are each asked again by a policy of their own, within
the task's deadline. A budget that is used up ends the task as failed, with a risk flag, and not in the middle of a call. A call
that needs a person's word parks the task; the queue writes the one terminal event, with the state that ends it.

Whoever has lost the lease may finish what it was at, a question to the model or one call (under the key of that call), and is stopped when it next
tells those who watch. What it writes until then goes on from what is there, or is refused (`StaleJournal`); the holder goes on from that.

Not handled here: two conversations about one task, and fencing the outside world: a tool without a key that a slow process has begun may end after a person
has said yes to another run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from labkit.agent.approval import PERSON, person_tool
from labkit.agent.artifacts import ArtifactStore
from labkit.agent.budget import EXHAUSTED, UNDER_PRESSURE, pressed, stop_if_spent, time_left, used
from labkit.agent.calls import Calls, Said, first_line
from labkit.agent.conversation import Message, ToolCall, converse, turns
from labkit.agent.journal import Cost, ToolJournal
from labkit.agent.model import SECONDS, model_name
from labkit.agent.observe import observe
from labkit.agent.sent import to_send
from labkit.agent.state import AgentState, StatePatch
from labkit.agent.states import AgentStates, Patch
from labkit.agent.tools import Tool, toolbox
from labkit.agent.turn import ask_model
from labkit.checkpoint import CheckpointManager
from labkit.clock import Clock
from labkit.errors import BudgetExhausted, StaleJournal, UnstorableValue, UsageError
from labkit.progress import ProgressLog
from labkit.progress.update import Status
from labkit.queue.job import Ask, Job
from labkit.retry import RetryPolicy
from labkit.task import Task

if TYPE_CHECKING:
    import openai

_log = logging.getLogger("labkit.agent")
MODEL_POLICY = RetryPolicy(max_attempts=4, cap=30.0)
TOOL_POLICY = RetryPolicy(max_attempts=3)


def _goal_alone(task: Task) -> AgentState:
    return AgentState(goal=task.user_input)


@dataclass(frozen=True)
class Agent:
    """A handler for a `Worker`: `Worker(queue, Agent(...), "w1")`. `name` is the agent's id in the shared states.

    `begin` makes the first state of a task: goal, plan, budget, which risks need a person's word.
    """

    name: str
    engine: Engine
    client: openai.OpenAI
    tools: Mapping[str, Tool]
    clock: Clock
    begin: Callable[[Task], AgentState] = _goal_alone
    model: str = field(default_factory=model_name)
    model_policy: RetryPolicy = MODEL_POLICY
    tool_policy: RetryPolicy = TOOL_POLICY
    checkpoints: CheckpointManager | None = None

    def __post_init__(self) -> None:
        if dict(self.tools) != toolbox(*self.tools.values()) or PERSON in self.tools:
            raise UsageError(f"each tool stands under its own name, and {PERSON} is there already")

    def __call__(self, job: Job) -> str:
        return _Run(self, job).to_the_end()

    def __repr__(self) -> str:
        return f"<Agent {self.name}, {len(self.tools)} tools>"


class _Run:
    """One attempt at one task. It is the journal that `converse` writes to: each message with what it cost."""

    def __init__(self, agent: Agent, job: Job) -> None:
        self._agent, self._job, self._task_id = agent, job, job.task.id
        self._journal = ToolJournal(agent.engine, self._task_id)
        self._states = AgentStates(agent.engine)
        self._state = self._states.begin(agent.name, self._task_id, agent.begin(job.task)).state
        tools = {**agent.tools, PERSON: person_tool(self._ask)}
        self._schemas = [tool.schema() for tool in tools.values()]
        self._calls = Calls(
            tools, self._journal, ArtifactStore(agent.engine), self._state.constraints, self._ask, self._learn,
            agent.clock, agent.tool_policy, job.deadline,
        )  # fmt: skip
        self._tokens, self._since = 0, agent.clock.monotonic()
        told = ProgressLog(agent.engine).after(self._task_id) if self.messages() else []
        self._told = told[-1][1] if told else None

    def to_the_end(self) -> str:
        """The model's final answer."""
        self._checkpoint("on_state_change")
        said = len(self.messages())
        while True:
            try:
                answer = converse(self, self._job.user_input, self._think, self._answer)
                # subtle: what somebody added while the model said its last word makes it no last word
                if self._amended(self.messages())[-1]["role"] == "assistant":
                    return answer
            except BudgetExhausted:
                self._patch(StatePatch(risk_flags=[UNDER_PRESSURE, EXHAUSTED]))
                raise
            except StaleJournal:
                # subtle: who holds the lease goes on from there; who does not hears of it at the next word to those who watch
                before, said = said, len(self.messages())
                if said == before:
                    raise

    def messages(self) -> list[Message]:
        return self._journal.messages()

    def append(self, message: Message) -> None:
        now = self._agent.clock.monotonic()
        self._journal.append(message, Cost(self._tokens, round(1000 * (now - self._since))))
        self._tokens, self._since = 0, now
        self._checkpoint("every_step" if message["role"] == "tool" else "every_iteration")

    def _think(self, messages: list[Message]) -> Message:
        """Ask the model, unless the task is no longer worth it or a budget is used up."""
        self._job.check()
        messages = self._amended(messages)
        turn, budget, cost = turns(messages) + 1, self._state.budget, self._journal.cost()
        parts = used(messages, cost, budget)
        stop_if_spent(parts, budget)
        sent, short = to_send(messages, self._state)
        if short or pressed(parts):
            self._patch(StatePatch(risk_flags=[UNDER_PRESSURE]))
        self._tell(turn, "thinking")
        within = time_left(budget, cost, self._agent.clock, self._job.deadline)
        said = self._agent.model_policy.run(
            lambda: ask_model(
                self._agent.client, self._agent.model, sent, self._schemas, number=turn, seconds=within.for_step(SECONDS)
            ),
            self._agent.clock,
            within,
        )
        self._tokens = said.tokens
        return said.message

    def _amended(self, messages: list[Message]) -> list[Message]:
        """The conversation with what people have added to the task since; the first word was the task itself."""
        taken = sum(message["role"] == "user" for message in messages) - 1
        for text in self._job.amendments()[taken:]:
            self.append({"role": "user", "content": text})
        return self.messages()

    def _answer(self, call: ToolCall) -> str:
        """Answer one call, and tell those who watch."""
        self._job.check()
        turn = turns(self.messages())
        told = self._calls.kept(call)
        if told is None:
            self._tell(turn, "tool_call", tool=call.name)
            told = self._calls.make(call)
        self._tell(turn, "tool_result", first_line(told), call.name)
        return told

    def _tell(self, step: int, status: Status, message: str = "", tool: str = "") -> None:
        """Tell those who watch, unless it is what they heard last, from a process that died since."""
        last = self._told
        if last is None or (last.step, last.status, last.message, last.tool) != (step, status, message, tool):
            self._job.tell(step, status, message, tool=tool)
        self._told = None

    def _learn(self, call: ToolCall, said: Said) -> None:
        self._patch(lambda state: observe(state, call, said))

    def _ask(self, question: str) -> str:
        """A person's answer; as long as there is none the question is open, and the task is parked."""
        try:
            said = self._job.ask(question)
        except Ask:
            self._patch(StatePatch(open_questions=[question]))
            raise
        self._patch(StatePatch(answered=[question]))
        return said

    def _patch(self, patch: Patch) -> None:
        self._state = self._states.patch(self._agent.name, self._task_id, patch).state

    def _checkpoint(self, trigger: str) -> None:
        """A picture of the run, for people; it goes on from its journal."""
        if self._agent.checkpoints is None:
            return
        known = {"state": self._state.model_dump(mode="json"), "messages": len(self.messages())}
        try:
            self._agent.checkpoints.maybe_save(self._job.task, trigger, extra=known)
        except UnstorableValue as error:  # of a state that another agent has filled with what no checkpoint holds
            _log.warning("task %s: no checkpoint: %s", self._task_id, error, extra={"task": self._task_id})
