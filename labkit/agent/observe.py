"""From what happened to what is known, and from what is known to what comes next: two parts that do not know each other.

An observation becomes a patch: a fact with its source, an artifact, a risk flag, one step less in the plan. It is a function of the state and the result
alone, and a result that is observed again, after a crash, changes nothing: each call leaves a fact of its own, also where it found what was known
before. What the call had asked a person is open no longer. What comes next is read off the state.

A step of the plan is a line that names a tool, such as `clean_logs web-1`. A call of that tool does it if one of the two says all that the other says:
`clean_logs` on web-2 does not, `clean_logs` on web-1 with a number of days does, and so does any for a step that names the tool alone.

Not handled here: keeping the state (see `states`).
"""

from __future__ import annotations

import json
from typing import Any

from labkit.agent.approval import asked_about
from labkit.agent.artifacts import StoredArtifact
from labkit.agent.calls import Said, first_line
from labkit.agent.conversation import ToolCall
from labkit.agent.part import in_part
from labkit.agent.state import AgentState, Artifact, Fact, StatePatch
from labkit.store.contract import storable_text

LONGEST_FACT_KEY = 80  # characters


def next_step(state: AgentState) -> str:
    """The first step of the plan, or the goal itself where there is no plan (any more)."""
    return state.plan[0] if state.plan else state.goal


def observe(state: AgentState, call: ToolCall, said: Said) -> StatePatch:
    """What this result adds to what is known."""
    patch = StatePatch(answered=[question for question in state.open_questions if asked_about(question, call.id)])
    if any(fact.source == call.id for fact in state.known_facts):
        return patch
    patch.facts = [_fact(state, call, first_line(said.text))]
    if said.artifact is not None:
        step, _ = in_part(next_step(state), "step")
        patch.artifacts = [artifact_of(said.artifact, step)]
    if said.end == "ran" and state.plan and _does(call, state.plan[0]):
        patch.plan = state.plan[1:]
    if said.end != "ran":
        patch.risk_flags = [f"{said.end}: {call.name}"]
    return patch


def artifact_of(kept: StoredArtifact, step: str) -> Artifact:
    """What a state says of an artifact that this step has made."""
    return Artifact(artifact_id=kept.artifact_id, type=kept.type, summary=kept.summary, bytes=kept.bytes, step=step)


def _does(call: ToolCall, step: str) -> bool:
    """Whether this call is what the step says."""
    says = set(step.split())
    if call.name not in says:
        return False
    says.discard(call.name)
    does = {word for text in _texts(json.loads(call.arguments)) for word in text.split()}
    return says <= does or does <= says


def _texts(given: Any) -> list[str]:
    """What a call was given, without the names of the fields."""
    if isinstance(given, dict | list):
        return [text for one in (given.values() if isinstance(given, dict) else given) for text in _texts(one)]
    return [given if isinstance(given, str) else json.dumps(given)]


def _fact(state: AgentState, call: ToolCall, value: str) -> Fact:
    key = storable_text(f"{call.name} {call.arguments}"[:LONGEST_FACT_KEY])
    known = any((fact.key, fact.value) == (key, value) for fact in state.known_facts)
    # subtle: a state holds the same fact once, and what is not held cannot tell that this call was observed
    return Fact(key=f"{key} ({call.id})" if known else key, value=value, source=call.id)
