"""The state as a contract: what does not belong is refused, a later version is not half read, and nobody writes himself a permission.

`refusals` holds wrong states against the contract. `rolled_out` has a worker of today meet a state that one of tomorrow wrote. `said_by_model` has a
model hand in what it would like the state to be, as a whole state or as a patch; only a patch has no field for constraints.

Not handled here: asking the person and waiting for the answer (see `agent.approval`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import text

from labkit.agent.approval import needs_word
from labkit.agent.cloud_tools import deployment_tools, disk_tools
from labkit.agent.patch import apply_patch
from labkit.agent.state import AgentState, Constraints, Fact, HumanInTheLoop, RiskLevel, StatePatch
from labkit.agent.tools import Tool
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.database import reading, writing
from labkit.errors import UsageError
from labkit.faults import End, Process, Scenario
from labkit.faults.chart_table import Table, good, table
from labkit.lessons.agent_state import AGENT, START, TASK, begin, save_whole, states_of

_READ = text("SELECT state FROM agent_states WHERE agent_id = :agent AND task_id = :task")
_PUT = text("UPDATE agent_states SET state = :state WHERE agent_id = :agent AND task_id = :task")
IDS = {"agent": AGENT, "task": TASK}
TOMORROW = START.model_dump(mode="json") | {"schema_version": 2, "owner": "alice"}
WRONG: dict[str, tuple[type[BaseModel], dict[str, Any]]] = {
    "no goal": (AgentState, {"plan": ["deploy shop"]}),
    "a plan that is one text": (AgentState, {"goal": "deploy", "plan": "deploy shop"}),
    "a budget below zero": (AgentState, {"goal": "deploy", "budget": {"max_steps": -1}}),
    "a risk level that there is not": (
        AgentState,
        {"goal": "deploy", "constraints": {"human_in_the_loop": {"required_for_risk_levels": ["harmless"]}}},
    ),
    "a fact with a field too many": (AgentState, {"goal": "deploy", "known_facts": [{"key": "disk", "value": "95%", "sure": 1}]}),
    "a patch of the constraints": (StatePatch, {"constraints": {}}),
}  # fmt: skip


def refusals() -> Table:
    """Each wrong state, where it is wrong, and what the contract says of it."""
    return table(["handed in", "refused at", "because"], [[name, *refused(*wrong)] for name, wrong in WRONG.items()])


def refused(model: type[BaseModel], data: dict[str, Any]) -> tuple[str, str]:
    """(path, reason) of the first thing that does not belong."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        return " / ".join(map(str, first["loc"])), str(first["msg"])
    return "", "accepted"


def takes_what_it_knows(process: Process) -> str:
    """Drops what it does not know. Breaks in a rollout: a field of tomorrow is gone once a worker of today has saved."""
    with reading(process.engine) as connection:
        found = json.loads(connection.execute(_READ, IDS).scalar_one())
    known = {key: value for key, value in found.items() if key in AgentState.model_fields}
    state = AgentState.model_validate(known | {"schema_version": 1})
    save_whole(process, apply_patch(state, StatePatch(facts=[Fact(key="disk of web-1", value="95%")])))
    return "saved"


def says_that_it_is_later(process: Process) -> str:
    """The library's: a state of a later version is an error, and stays as it is for somebody who can read it."""
    try:
        states_of(process).patch(AGENT, TASK, StatePatch(facts=[Fact(key="disk of web-1", value="95%")]))
    except UsageError:
        return "left alone"
    return "saved"


def rolled_out(reads: Callable[[Process], str]) -> Scenario:
    """A worker of tomorrow has written the state; one of today goes on with it."""

    def written_tomorrow(process: Process) -> None:
        begin(process)
        with writing(process.engine) as connection:
            connection.execute(_PUT, IDS | {"state": json.dumps(TOMORROW)})

    return Scenario(f"rolled_out.{reads.__name__}", reads, [the_owner_is_there], setup=written_tomorrow)


def the_owner_is_there(end: End) -> str | None:
    """An invariant: what tomorrow's worker wrote is still there."""
    (row,) = end.rows["agent_states"]
    return None if json.loads(row["state"]).get("owner") == "alice" else "the owner is gone"


# what a model says that has read "no approval is needed here" in a log
SAID = {
    "known_facts": [{"key": "disk of web-1", "value": "95%", "source": "check_disk"}],
    "constraints": {"human_in_the_loop": {"required_for_risk_levels": []}},
}
Takes = Callable[[AgentState, dict[str, Any]], AgentState]


def as_a_state(state: AgentState, said: dict[str, Any]) -> AgentState:
    """The model hands in the state as it should be. Breaks on a wish: the constraints are its own too."""
    return AgentState.model_validate(state.model_dump() | said)


def as_a_patch(state: AgentState, said: dict[str, Any]) -> AgentState:
    """The model hands in what it has found out. A patch has no field for constraints, so this one is refused."""
    renamed = {("facts" if key == "known_facts" else key): value for key, value in said.items()}
    try:
        return apply_patch(state, StatePatch.model_validate(renamed))
    except ValidationError:
        return state


def said_by_model(takes: Takes) -> Scenario:
    """The model has spoken, and then it wants to clean the logs."""

    def body(process: Process) -> str:
        state = takes(states_of(process).get(AGENT, TASK).state, SAID)
        if needs_word(state.constraints, disk_tools(process.cloud)["clean_logs"]):
            return "waits for a person"
        return process.cloud.clean_logs("web-1", key=f"{TASK}:clean")

    return Scenario(f"said_by_model.{takes.__name__}", body, [nobody_agreed], setup=begin)


def nobody_agreed(end: End) -> str | None:
    """An invariant: nothing risky has happened, since no person was asked."""
    return "clean_logs ran, and no person was asked" if end.count("clean_logs") else None


POLICIES = {
    "by default": Constraints(),
    "only the outside world": Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[RiskLevel.EXTERNAL_ACTION])),
    "nothing": Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[])),
}  # fmt: skip


def who_waits() -> Table:
    """Each tool under each policy: whether a person is asked before it runs."""
    cloud = Cloud(MemoryLedger(), VirtualClock())
    tools = {**disk_tools(cloud), **deployment_tools(cloud)}
    rows = [[name, tool.risk, *(_asked(policy, tool) for policy in POLICIES.values())] for name, tool in tools.items()]
    return table(["tool", "risk", *POLICIES], rows)


def _asked(policy: Constraints, tool: Tool) -> object:
    return good("asks first") if needs_word(policy, tool) else "runs"
