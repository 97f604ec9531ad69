"""The same news again: a patch that a crash makes arrive twice, one that comes late, and a budget that begins anew with each process.

Each broken way names in its docstring what breaks it, and the sound one follows. `join` says what a patch makes of a state; `Count` says when a step
is written down that was paid for.

Not handled here: two parts at the same time (see `agent_state`).
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.agent.patch import apply_patch
from labkit.agent.state import AgentState, Budget, Fact, StatePatch
from labkit.errors import BudgetExhausted, StaleState
from labkit.faults import End, Process, Scenario
from labkit.lessons.agent_state import AGENT, START, TASK, begin, hears, kept, left, looks, save_whole, states_of
from labkit.lessons.state_diff import StateDiff, diff

Join = Callable[[AgentState, StatePatch], AgentState]
Step = Callable[[Process, int], None]
STEPS = 3
PRESSURE = 0.6  # of a budget; from here on a flag says so


def extends(state: AgentState, patch: StatePatch) -> AgentState:
    """Lists get longer. Breaks when a patch comes again: everything in it is there twice, and what was answered is open."""
    changed = {"known_facts": state.known_facts + patch.facts, "plan": state.plan if patch.plan is None else patch.plan}
    open_now = [question for question in state.open_questions if question not in patch.answered]
    return state.model_copy(update=changed | {"open_questions": open_now + patch.open_questions})


def value_of_key(state: AgentState, patch: StatePatch) -> AgentState:
    """One value for each key. Breaks when a fact changes: what was believed before, and acted on, was never there."""
    facts = {fact.key: fact for fact in [*state.known_facts, *patch.facts]}
    return state.model_copy(update={"known_facts": list(facts.values())})


ASKS = StatePatch(facts=looks(START).facts, open_questions=["may the old logs go?"])


def applied(join: Join) -> Scenario:
    """One part saves what a tool has found out; a crash after the save makes it save again."""

    def body(process: Process) -> None:
        save_whole(process, join(states_of(process).get(AGENT, TASK).state, ASKS))

    return Scenario(f"applied.{join.__name__}", body, [each_once], setup=begin)


def each_once(end: End) -> str | None:
    """An invariant: nothing is there twice."""
    state = left(end)
    things = [*(f"{fact.key} = {fact.value}" for fact in state.known_facts), *state.open_questions]
    twice = dict.fromkeys(thing for thing in things if things.count(thing) > 1)
    return f"twice: {', '.join(twice)}" if twice else None


def measured(join: Join) -> Scenario:
    """The disk is at 95%, is cleaned, and is at 45%."""

    def body(process: Process) -> None:
        for value in ("95%", "45%"):
            patch = StatePatch(facts=[Fact(key="disk of web-1", value=value, source="check_disk")])
            save_whole(process, join(states_of(process).get(AGENT, TASK).state, patch))

    return Scenario(f"measured.{join.__name__}", body, [the_past_is_there], setup=begin)


def the_past_is_there(end: End) -> str | None:
    """An invariant: one can see that the disk was full, and that it is not now."""
    values = [fact.value for fact in left(end).known_facts if fact.key == "disk of web-1"]
    return None if values == ["95%", "45%"] else f"all that is known of the disk: {', '.join(values)}"


def late(versioned: bool) -> Scenario:
    """A patch is sent again after a newer one, by somebody who does not know that it arrived. `versioned` says what it was made from."""

    def body(process: Process) -> str:
        states = states_of(process)
        first = states.get(AGENT, TASK)
        old, expected = looks(first.state), first.version if versioned else None
        states.patch(AGENT, TASK, old, expected=expected)
        newer = states.get(AGENT, TASK)
        states.patch(AGENT, TASK, hears(newer.state), expected=newer.version)
        try:
            states.patch(AGENT, TASK, old, expected=expected)
        except StaleState:
            return "refused"
        return "applied"

    return Scenario(f"late.{'versioned' if versioned else 'unversioned'}", body, [the_newer_plan_stays], setup=begin)


def the_newer_plan_stays(end: End) -> str | None:
    """An invariant: the plan is the one that was made last."""
    plan = left(end).plan
    return None if "deploy shop into blue" in plan else f"the plan is the old one: {', '.join(plan)}"


def late_diff() -> StateDiff:
    """A, then B, then A again: what the third patch does."""
    states, first = kept()
    states.patch(AGENT, TASK, looks(first.state))
    newer = states.get(AGENT, TASK).state
    both = states.patch(AGENT, TASK, hears(newer)).state
    again = states.patch(AGENT, TASK, looks(first.state)).state
    return diff(both, again, names=("A, B", "A, B, A"))


def in_memory(process: Process) -> None:
    """Counts in a variable. Breaks when it dies: the next process begins at 0, with the whole budget."""
    budget = states_of(process).get(AGENT, TASK).state.budget
    for number in range(1, budget.max_steps + 1):
        ask_the_model(process, number)


def spend_last(process: Process) -> None:
    """Writes each step down when it is done. Breaks between the two: a step that was paid for is not counted."""
    while True:
        used = steps_left(process)
        ask_the_model(process, used + 1)
        spend(process, used + 1)


def spend_first(process: Process) -> None:
    """Writes each step down before it is paid for. A crash may cost a step of the budget, and never one more."""
    while True:
        used = steps_left(process)
        spend(process, used + 1)
        ask_the_model(process, used + 1)


def ask_the_model(process: Process, number: int) -> None:
    """A step: it costs the same whatever comes out, and nothing does."""
    process.cloud.check_disk(f"web-{number}")


def steps_left(process: Process) -> int:
    """How many steps are used up. `BudgetExhausted` when these are all."""
    state = states_of(process).get(AGENT, TASK).state
    used = steps_of(state)
    if used >= state.budget.max_steps:
        raise BudgetExhausted(f"all {used} steps are used up", budget="max_steps")
    return used


def steps_of(state: AgentState) -> int:
    return sum(fact.key == "step" for fact in state.known_facts)


def spend(process: Process, number: int) -> None:
    """Write down a step, and near the end of the budget that there is little left."""
    states_of(process).patch(AGENT, TASK, spent(number))


def spent(number: int) -> StatePatch:
    """A step that was begun, as a patch."""
    flags = ["budget_pressure"] if number >= PRESSURE * STEPS else []
    return StatePatch(facts=[Fact(key="step", value=str(number))], risk_flags=flags)


def budgeted(way: Callable[[Process], None]) -> Scenario:
    """A question that no step answers, with a budget of three steps."""

    def with_budget(process: Process) -> None:
        state = START.model_copy(update={"budget": Budget(max_steps=STEPS)})
        states_of(process).begin(AGENT, TASK, state)

    return Scenario(f"budget.{way.__name__}", way, [within_budget], setup=with_budget)


def within_budget(end: End) -> str | None:
    """An invariant: no more steps were paid for than the budget allows."""
    paid = sum(call.boundary == "cloud" for call in end.calls)
    return f"{paid} steps were paid for, and {STEPS} allowed" if paid > STEPS else None


def pressed() -> StateDiff:
    """The state after the first step and after the second of three."""
    state = START.model_copy(update={"budget": Budget(max_steps=STEPS)})
    one = apply_patch(state, spent(1))
    return diff(one, apply_patch(one, spent(2)), names=("one step", "two steps"))
