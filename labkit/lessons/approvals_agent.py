"""The library's agent and its questions, in virtual time and without a simulator: who asks, what a person sees, what becomes of each kind of answer.

An `Office` has a queue, a cloud and whoever works in it now: each call of `work` is a new process for all that it remembers. `policy` and `errors` are tables.

Not handled here: crashes (see `approvals`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from labkit.agent.approval import needs_word
from labkit.agent.cloud_tools import deployment_tools, disk_tools
from labkit.agent.conversation import Message
from labkit.agent.journal import ToolJournal
from labkit.agent.loop import Agent
from labkit.agent.model import open_client
from labkit.agent.script import calls, results, says
from labkit.agent.state import AgentState, Constraints, HumanInTheLoop, RiskLevel
from labkit.agent.states import AgentStates
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.faults import Scenario, interleave, open_world, run_once
from labkit.faults.chart_table import Table, bad, good, judged, table
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from labkit.lessons import sockets_runs
from labkit.lessons.approvals import BROKEN, parks
from labkit.lessons.approvals_two import first_word, last_word, two_people
from labkit.lessons.approvals_world import SEEN, answers
from labkit.lessons.queues import no_heartbeats, open_queue
from labkit.lessons.talk_ledger import HEADS, Moment, SideBySide, ledger_of, talk_of
from labkit.queue import TaskQueue, Worker

ROOM, WHERE = "Make room on web-1.", "Make room where it is needed."
POLICIES = {
    "as it comes": Constraints(),
    "outside only": Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[RiskLevel.EXTERNAL_ACTION])),
    "nobody is asked": Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[])),
}


def cleans(messages: list[Message]) -> Message:
    """Cleans the logs of web-1, or of the server that a person names; leaves it when a person says so."""
    given = results(messages)
    goal = next(message["content"] for message in messages if message["role"] == "user")
    if goal == WHERE and not given:
        return calls(("ask_person", {"question": "Which server is full?"}))
    host = given[0][1] if goal == WHERE else "web-1"
    if not given or given[-1][0] == "ask_person":
        return calls(("clean_logs", {"host": host}))
    return says("There is room.") if given[-1][1].endswith("ready") else says("I leave the logs where they are.")


@dataclass
class Office:
    """A queue, a cloud, and agents that come and go."""

    queue: TaskQueue = field(default_factory=open_queue)

    def __post_init__(self) -> None:
        self.cloud = Cloud(MemoryLedger(), VirtualClock())

    def work(self, worker: str) -> None:
        """A new process works until there is nothing to do."""
        client, tools = open_client(cleans, environ={}), disk_tools(self.cloud)
        agent = Agent("ops", self.queue.engine, client, tools, self.queue.clock)
        Worker(self.queue, agent, worker, every=no_heartbeats).run_until_idle()

    def known(self, task_id: str) -> AgentState:
        """What the agent knows."""
        return AgentStates(self.queue.engine).get("ops", task_id).state

    def talk(self, *task_ids: str) -> SideBySide:
        """Conversation and ledger of each task, as they are now."""
        return SideBySide(tuple(self._moment(task_id) for task_id in task_ids), ("task", *HEADS[1:3], "it is"))

    def _moment(self, task_id: str) -> Moment:
        messages = ToolJournal(self.queue.engine, task_id).messages()
        told = " ".join(str(message["content"]) for message in messages if message["role"] == "tool")
        effects = [effect for effect in self.cloud.effects() if (effect.key or "").startswith(f"{task_id}:")]
        return Moment(task_id, talk_of(messages), ledger_of(effects, told), good(self.queue.get(task_id).state))


def policy() -> Table:
    """Which tools wait for a person's word, under three policies."""
    cloud = Cloud(MemoryLedger(), VirtualClock())
    tools = [*disk_tools(cloud).values(), deployment_tools(cloud)["configure_route"]]
    rows = [
        [
            tool.name,
            tool.risk.replace("_", " "),
            *("asks" if needs_word(one, tool) else "runs" for one in POLICIES.values()),
        ]
        for tool in tools
    ]
    return table(["tool", "risk", *POLICIES], rows)


def put_to_the_person(*scenarios: Scenario) -> Table:
    """What a person was asked in each run, and what was done."""
    rows: list[list[object]] = []
    for scenario in scenarios:
        with open_world("memory") as world:
            end = Runner(scenario, world).run(Schedule())[0]
        asked = [_shortly(effect.target) for effect in end.effects if effect.name == SEEN]
        done = ", then ".join(effect.target for effect in end.effects if effect.changed)
        rows.append(
            [
                scenario.name.replace("_", " "),
                "; ".join(asked),
                (bad if scenario.why_broken(end) else good)(f"cleaned {done}"),
            ]
        )
    return table(["", "may this run? yes to the first", "and then"], rows)


def _shortly(question: str) -> str:
    """A question without the words that are the same in all: the call, and its id if it is said."""
    call, _, more = question.removeprefix("May ").partition(" run?")
    return f"{call} ({more.rpartition(', ')[2]}" if more else call


def errors() -> Table:
    """Every error of the lesson, and the library's design under the same trouble."""
    rows = [
        [name, *(judged(run_once(one, schedule).broken) for one in (scenario, sound_for(scenario)))]
        for name, (scenario, schedule) in BROKEN.items()
    ]
    both = [interleave(two_people(tell)).broken for tell in (last_word, first_word)]
    rows.append(["the last word counts", *(judged(found[0].why if found else None) for found in both)])
    return table(["", "as one writes it first", "as it should be"], [*rows, *sockets_runs.errors()])


def sound_for(scenario: Scenario) -> Scenario:
    """The same trouble for the library's design."""
    run = scenario.run
    assert isinstance(run, partial)
    return replace(scenario, run=partial(run, work=parks, reply=answers), name=f"parks.{scenario.name}")
