"""Chapter 11, *MCP for state*: one agent writes its progress, another goes on from it, in the ways in which this goes wrong.

Both work off the plan in one shared state: read it, do its first step, take the step off the plan. The ways differ in what the second agent
looks at, which key the calls carry, and how progress is written. `taken_over` kills the first agent anywhere and lets the second one
go on; `mid_step` has both alive, the second one looking while the first is in the middle of its long step.

Not handled here: whether an agent that is silent is dead (see `leases`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from sqlalchemy import text

from labkit.agent.patch import apply_patch
from labkit.agent.state import AgentState, Fact, StatePatch
from labkit.agent.states import AgentStates, KeptState
from labkit.database import writing
from labkit.errors import StaleState
from labkit.faults import End, Process, Scenario, exactly_once
from labkit.faults.scenario import Body
from labkit.lessons.story import APP

AGENT, TASK = "deployer", "deploy-shop"
STEPS = ("create_namespace", "deploy_container", "configure_route")
START = AgentState(goal="deploy shop", plan=list(STEPS))
CONTAINER, ALERT = "deploy_container", "create_alert"  # the last is a step that the user asks the second agent for
LONG, COMES_AT = (
    600.0,
    480.0,
)  # seconds: how long the first agent waits for the container, and when the second one comes
_WHOLE = "UPDATE agent_states SET state = :state, version = version + 1 WHERE agent_id = :agent AND task_id = :task"
Key = Callable[[Process, str], str]
Write = Callable[[Process, KeptState, StatePatch], None]


def own_key(process: Process, step: str) -> str:
    """The agent and the step. Breaks when another agent does the step again: to the cloud it is another one."""
    return f"{process.name}:{step}"


def task_key(process: Process, step: str) -> str:
    """The task and the step: the same, whoever does it."""
    return f"{TASK}:{step}"


def whole_state(process: Process, seen: KeptState, patch: StatePatch) -> None:
    """Write all of the state, as it was when it was read, with what is new. Breaks when another went on meanwhile."""
    state = apply_patch(seen.state, patch).model_dump_json()
    with writing(process.engine) as connection:
        connection.execute(text(_WHOLE), {"agent": AGENT, "task": TASK, "state": state})


def patch_of_version(process: Process, seen: KeptState, patch: StatePatch) -> None:
    """Write what is new if nobody wrote since it was read, else nothing: whoever calls reads again."""
    with suppress(StaleState):
        AgentStates(process.engine).patch(AGENT, TASK, patch, expected=seen.version)


def goes_on(process: Process, key: Key, write: Write, long: float = 0.0) -> str:
    """Work off the plan until it is empty, a step in so many seconds; what was seen at first."""
    seen = first = read(process)
    while seen.state.plan:
        step, *rest = seen.state.plan
        news = do(process, step, key(process, step), long)
        write(process, seen, news.model_copy(update={"plan": rest}))
        seen = read(process)
    return said(first)


def do(process: Process, step: str, key: str, long: float) -> StatePatch:
    """Do one step, and wait until it is done; what it adds to the state."""
    getattr(process.cloud, step)(APP, key=key)
    if long:
        process.clock.sleep(long)
    return StatePatch(facts=[Fact(key=step, value="done")])


def said(seen: KeptState) -> str:
    return f"saw version {seen.version}, next: {next(iter(seen.state.plan), 'nothing')}"


def read(process: Process) -> KeptState:
    return AgentStates(process.engine).get(AGENT, TASK)


def hears_of_alert(process: Process, write: Write) -> None:
    """The user wants one step more; it goes to the end of the plan."""
    while ALERT not in (seen := read(process)).state.plan:
        write(process, seen, StatePatch(plan=[*seen.state.plan, ALERT]))


def starts_over(process: Process) -> str:
    """The second agent does what it was told, from the top. Breaks when the first one has done something."""
    for step in STEPS:
        do(process, step, own_key(process, step), 0.0)
    return "did all of it"


def begin(process: Process) -> None:
    AgentStates(process.engine).begin(AGENT, TASK, START)


def at_the_container(process: Process) -> None:
    """Version 2: the container is all that is left to do."""
    begin(process)
    AgentStates(process.engine).patch(AGENT, TASK, StatePatch(plan=[CONTAINER]))


def each_step_once(end: End) -> str | None:
    """An invariant: each step changed the world once."""
    wrong = [f"{step} {end.count(step)} times" for step in STEPS if end.count(step) != 1]
    return ", ".join(wrong) or None


def state_says_done(end: End) -> str | None:
    """An invariant: what was done is in the state, and nothing is left to do."""
    (row,) = end.rows["agent_states"]
    state = AgentState.model_validate_json(row["state"])
    noted = {fact.key for fact in state.known_facts}
    done = [effect.name for effect in end.effects if effect.changed]
    wrong = [f"{step} is to be done" for step in state.plan] + [
        f"{step} is forgotten" for step in done if step not in noted
    ]
    return ", ".join(dict.fromkeys(wrong)) or None


def taken_over(name: str, second: Body | None = None, key: Key = own_key) -> Scenario:
    """The first agent may die anywhere, and a second one goes on; if that dies, a third."""
    body = partial(goes_on, key=key, write=patch_of_version)
    invariants = [each_step_once] if second is starts_over else [each_step_once, state_says_done]
    return Scenario(f"taken_over.{name}", body, invariants, begin, second or body)


def mid_step(name: str, key: Key, write: Write = patch_of_version, *, alert: bool = False) -> Scenario:
    """Both are alive: the second one comes, perhaps with one step more, while the first waits for its container."""

    def second(process: Process) -> str:
        process.clock.sleep(COMES_AT)
        if alert:
            hears_of_alert(process, write)
        return goes_on(process, key, write)

    waits = partial(goes_on, key=key, write=write, long=LONG)
    return Scenario(f"mid_step.{name}", [waits, second], [exactly_once(CONTAINER), state_says_done], at_the_container)
