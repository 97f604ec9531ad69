"""The world of the lesson on durable agents: a desk at which a loop works, and what must hold of its run.

`conversation` makes a scenario of a way to run the loop. Its process makes three attempts; one that died is followed by another that calls the same way with
the same journal. Where attempts are `counted`, as the queue does it, an attempt that died is one of the three.

Not handled here: the models (see `agents_models`), and the ways themselves (see `agents`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.budget import stop_if_spent, used
from labkit.agent.calls import Calls
from labkit.agent.cloud_tools import deployment_tools, disk_tools
from labkit.agent.conversation import Message, ToolCall, turns
from labkit.agent.journal import NOTHING, ToolJournal
from labkit.agent.model import open_client
from labkit.agent.script import Reply
from labkit.agent.state import Budget, Constraints, HumanInTheLoop
from labkit.agent.tools import Tool
from labkit.agent.turn import ask_model
from labkit.errors import ModelRefused
from labkit.faults import End, Process, Scenario
from labkit.lessons.agents_models import DEPLOYED, Endpoint, cleans, cleans_two, deploys
from labkit.queue.job import Ask
from labkit.retry import RetryPolicy

if TYPE_CHECKING:
    import httpx
    import openai

    Answers = Callable[[httpx.Request], httpx.Response]
Unkeyed = Callable[[dict[str, Any], "str | None"], str]  # a tool whose key may be left out
TASK, GOAL = "t1", "Clean the logs of web-1."
ATTEMPTS = 3
BUDGET = Budget(max_steps=10)
UNWATCHED = Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[]))


@dataclass(frozen=True)
class Desk:
    """What a loop works with: a model to ask, tools to run, and a journal that outlives its process."""

    process: Process
    journal: ToolJournal
    tools: Mapping[str, Tool]
    client: openai.OpenAI
    goal: str = GOAL

    def think(self, messages: list[Message]) -> Message:
        """The model's next message, exactly as it says it. `ModelRefused` with the words of the endpoint."""
        import openai

        sent: Any = messages
        try:
            answer = self.client.chat.completions.create(model="scripted", messages=sent, tools=self._schemas)
        except openai.APIStatusError as error:
            told = error.body["message"] if isinstance(error.body, dict) else ""
            raise ModelRefused(f"{error.status_code}: {told}") from None
        return answer.choices[0].message.model_dump(exclude_none=True)

    def run(self, call: ToolCall, key: str | None = None) -> str:
        """What the tool gives, or whatever it raises."""
        run = cast("Unkeyed", self.tools[call.name].run)
        return run(json.loads(call.arguments), key)

    def think_cleaned(self, messages: list[Message]) -> Message:
        """The library's: within the budget of the whole run, and calls get ids of ours."""
        stop_if_spent(used(messages, NOTHING, BUDGET), BUDGET)
        return ask_model(
            self.client, "scripted", messages, self._schemas, number=turns(messages) + 1, seconds=60
        ).message

    def answer(self, call: ToolCall) -> str:
        """The library's: one answer to one call, whatever the model wrote."""
        made = Calls(
            self.tools, self.journal, ArtifactStore(self.process.engine), UNWATCHED, _ask, lambda call, said: None,
            self.process.clock, RetryPolicy(max_attempts=3),
        )  # fmt: skip
        told = made.kept(call)
        return made.make(call) if told is None else told

    @property
    def _schemas(self) -> Any:
        return [tool.schema() for tool in self.tools.values()]


Way = Callable[[Desk], str]


def _ask(question: str) -> str:
    raise Ask(question)


def desk_of(process: Process, endpoint: Answers, goal: str = GOAL, *, keyed: bool = True) -> Desk:
    """The desk of a process. Tools that are not `keyed` take no key."""
    tools = disk_tools(process.cloud) | deployment_tools(process.cloud)
    if not keyed:
        tools = {name: _without_key(tool) for name, tool in tools.items()}
    client = open_client(http=process.http(endpoint), environ={})
    return Desk(process, ToolJournal(process.engine, TASK), tools, client, goal)


def _without_key(tool: Tool) -> Tool:
    run = cast("Unkeyed", tool.run)
    return replace(tool, run=lambda given, key: run(given, None), keyed=False)


def play(process: Process, way: Way, reply: Reply, goal: str, same_ids: bool = False, keyed: bool = True, counted: bool = False) -> str:
    """One process: three attempts of a way, or those that the processes before it have left, and how they ended."""
    told, died = "", int(process.name.removeprefix("p")) - 1 if counted else 0
    for attempt in range(died + 1, ATTEMPTS + 1):
        try:
            way(desk_of(process, Endpoint(reply, same_ids=same_ids), goal, keyed=keyed))
            return "completed"
        except Ask as asked:
            return f"asks: {asked}"
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            process.note(f"attempt {attempt} fails", told)
    return f"failed: {told}"


def comes_to_an_end(end: End) -> str | None:
    """An invariant: there is an answer in the end, or a question to somebody who can decide."""
    said = str(end.last.value) if end.last.how == "returned" else str(end.last)
    return None if said == "completed" or said.startswith("asks: ") else said


def conversation(
    way: Way,
    reply: Reply = cleans,
    effects: tuple[str, ...] = ("clean_logs web-1",),
    name: str = "",
    goal: str = GOAL,
    **how: Any,
) -> Scenario:
    """A scenario: this way, with a model that answers so, has these effects, once each."""

    def each_once(end: End) -> str | None:
        made = Counter(f"{effect.name} {effect.target}" for effect in end.effects if effect.changed)
        wrong = [f"{one} happened {made[one]} times" for one in {*made, *effects} if made[one] > 1]
        missing = [
            f"completed, and {one} never happened" for one in effects if not made[one] and end.last.value == "completed"
        ]
        return next(iter([*sorted(wrong), *missing]), None)

    run = partial(play, way=way, reply=reply, goal=goal, **how)
    return Scenario(
        name or way.__name__, run, [each_once, comes_to_an_end], goal=lambda end: end.last.value == "completed"
    )


def two_hosts(way: Way) -> Scenario:
    """Two turns, and an endpoint that gives the calls of both the same id."""
    both = ("clean_logs web-1", "clean_logs web-2")
    return conversation(
        way, cleans_two, both, f"two_hosts.{way.__name__}", "Clean the logs of web-1 and web-2.", same_ids=True
    )


def at_once(way: Way) -> Scenario:
    """Four calls in one message."""
    return conversation(
        way, deploys, tuple(f"{name} shop" for name in DEPLOYED), f"at_once.{way.__name__}", "Deploy shop."
    )


def without_a_key(way: Way) -> Scenario:
    """The tool takes no key: whatever is called again happens again."""
    return conversation(way, name=f"without_a_key.{way.__name__}", keyed=False)
