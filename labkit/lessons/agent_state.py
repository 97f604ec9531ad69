"""Chapter 11, step 0: two parts of one agent change its state, in three ways, of which only the last loses nothing.

`looks` has read what a tool printed, `hears` what the user answered; each says what it adds as a patch that it made from the state that it
had read. The ways differ in what is written: the whole state, the patch, or the patch if nobody wrote since. `at_once` runs both parts together.

Not handled here: one part that dies (see `agent_state_again`), and what a state may hold (see `agent_state_contract`).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import text

from labkit.agent.patch import apply_patch
from labkit.agent.state import AgentState, Fact, StatePatch
from labkit.agent.states import AgentStates, KeptState
from labkit.database import open_engine, writing
from labkit.errors import StaleState
from labkit.faults import End, Process, Scenario
from labkit.tables import create_tables

AGENT, TASK = "deployer", "deploy-shop"
START = AgentState(
    goal="deploy shop to staging",
    plan=["deploy shop", "set its route"],
    known_facts=[Fact(key="service", value="shop", source="user")],
    open_questions=["which namespace?"],
)
Part = Callable[[AgentState], StatePatch]
Way = Callable[[Process, Part], None]
_WHOLE = "UPDATE agent_states SET state = :state, version = version + 1 WHERE agent_id = :agent AND task_id = :task"


def looks(state: AgentState) -> StatePatch:
    """It has asked the disk: a fact, and something to do before all else."""
    first = "clean the logs"
    return StatePatch(
        facts=[Fact(key="disk of web-1", value="95%", source="check_disk")],
        plan=[first, *(step for step in state.plan if step != first)],
    )


def hears(state: AgentState) -> StatePatch:
    """It has the user's answer: a fact, a question less, and a step that now says where."""
    return StatePatch(
        facts=[Fact(key="namespace", value="blue", source="user")],
        answered=["which namespace?"],
        plan=["deploy shop into blue" if step == "deploy shop" else step for step in state.plan],
    )


def states_of(process: Process) -> AgentStates:
    """The store of states, behind the gate of this process."""
    return AgentStates(process.engine)


def save_whole(process: Process, state: AgentState) -> None:
    """Write the state over whatever is there: the chapter's UPSERT."""
    with writing(process.engine) as connection:
        connection.execute(text(_WHOLE), {"agent": AGENT, "task": TASK, "state": state.model_dump_json()})


def whole_state(process: Process, part: Part) -> None:
    """Read, change, save all of it. Breaks when somebody else saved in between: all that they wrote is as it was before."""
    state = states_of(process).get(AGENT, TASK).state
    save_whole(process, apply_patch(state, part(state)))


def patch_only(process: Process, part: Part) -> None:
    """Save what is new. Facts of both stay. Breaks on what a patch replaces: a plan made from an older one takes its place."""
    states = states_of(process)
    state = states.get(AGENT, TASK).state
    states.patch(AGENT, TASK, part(state))


def patch_of_version(process: Process, part: Part) -> None:
    """Save what is new if the state is still the one that was read; else read it, and think again."""
    states = states_of(process)
    while True:
        kept = states.get(AGENT, TASK)
        try:
            states.patch(AGENT, TASK, part(kept.state), expected=kept.version)
            return
        except StaleState:
            continue


def begin(process: Process) -> None:
    """The state as the user's words made it."""
    states_of(process).begin(AGENT, TASK, START)


def left(end: End) -> AgentState:
    """The state that is stored in the end."""
    (row,) = end.rows["agent_states"]
    return AgentState.model_validate_json(row["state"])


def nothing_is_lost(end: End) -> str | None:
    """An invariant: what both parts found out and planned is there."""
    state = left(end)
    facts = {fact.key for fact in state.known_facts}
    lost = [key for key in ("disk of web-1", "namespace") if key not in facts]
    lost += [step for step in ("clean the logs", "deploy shop into blue") if step not in state.plan]
    return f"lost: {', '.join(lost)}" if lost else None


def at_once(way: Way) -> Scenario:
    """Both parts at the same time."""

    def looking(process: Process) -> None:
        way(process, looks)

    def hearing(process: Process) -> None:
        way(process, hears)

    return Scenario(f"at_once.{way.__name__}", [looking, hearing], [nothing_is_lost], setup=begin)


def one_part(way: Way) -> Scenario:
    """One part alone, which may die anywhere and is started again."""

    def body(process: Process) -> None:
        way(process, looks)

    return Scenario(f"one_part.{way.__name__}", body, [looked_once], setup=begin)


def looked_once(end: End) -> str | None:
    """An invariant: fact and step are there once."""
    state = left(end)
    times = [state.plan.count("clean the logs"), sum(fact.key == "disk of web-1" for fact in state.known_facts)]
    return None if times == [1, 1] else f"step and fact are there {times[0]} and {times[1]} times"


def kept(state: AgentState = START) -> tuple[AgentStates, KeptState]:
    """A store of its own with this state in it, as version 1."""
    engine = open_engine("sqlite://")
    create_tables(engine)
    states = AgentStates(engine)
    return states, states.begin(AGENT, TASK, state)
