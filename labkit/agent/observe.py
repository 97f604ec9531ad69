"""From what happened to what is known, and from what is known to what comes next: two parts that do not know each other.

An observation becomes a patch: a fact with its source, an artifact, a risk flag, one step less in the plan. It is a function of the state and the result
alone, and a result that is observed again, after a crash, changes nothing: each call leaves a fact of its own, also where it found what was known
before. What comes next is read off the state.

Not handled here: keeping the state (see `states`).
"""

from __future__ import annotations

from labkit.agent.calls import Said, first_line
from labkit.agent.conversation import ToolCall
from labkit.agent.state import AgentState, Artifact, Fact, StatePatch
from labkit.store.contract import storable_text

LONGEST_KEY = 80  # characters


def next_step(state: AgentState) -> str:
    """The first step of the plan, or the goal itself where there is no plan (any more)."""
    return state.plan[0] if state.plan else state.goal


def observe(state: AgentState, call: ToolCall, said: Said) -> StatePatch:
    """What this result adds to what is known."""
    if any(fact.source == call.id for fact in state.known_facts):
        return StatePatch()
    step = next_step(state)
    patch = StatePatch(facts=[_fact(state, call, first_line(said.text))])
    if said.artifact is not None:
        kept = said.artifact
        patch.artifacts = [Artifact(artifact_id=kept.artifact_id, type=kept.type, summary=kept.summary, bytes=kept.bytes, step=step)]
    if said.end == "ran" and state.plan and call.name in step.split():
        patch.plan = state.plan[1:]
    if said.end != "ran":
        patch.risk_flags = [f"{said.end}: {call.name}"]
    return patch


def _fact(state: AgentState, call: ToolCall, value: str) -> Fact:
    key = storable_text(f"{call.name} {call.arguments}"[:LONGEST_KEY])
    known = any((fact.key, fact.value) == (key, value) for fact in state.known_facts)
    # subtle: a state holds the same fact once, and what is not held cannot tell that this call was observed
    return Fact(key=f"{key} ({call.id})" if known else key, value=value, source=call.id)
