"""From what happened to what is known, and from what is known to what comes next, without asking anybody: values in, values out.

An observation becomes a patch: a fact with its source, an artifact, a risk flag, one step less in the plan. It is a function of the state, the run and the
result alone, and a result that is observed again, after a crash, changes nothing: each call leaves a fact of its own, also where it found what was
known before. The source of a fact names run and call, so it is nobody else's. A call that was made again after a crash and ended otherwise is a second fact,
newest last. What the call had asked a person is open no longer. What comes next is read off the state.

A step of the plan is a line that names a tool, such as `clean_logs web-1`. A call of that tool does the first one that says nothing else than what the call
was given: `clean_logs` on web-2 or on nothing does not, `clean_logs` on web-1 with a number of days does, and so does any for a step that names the
tool alone.

Not handled here: keeping the state (see `states`).
"""

from __future__ import annotations

import json
from typing import Any

from labkit.agent.approval import NOT_RUN, asked_about
from labkit.agent.artifacts import StoredArtifact
from labkit.agent.calls import FAILED, Said
from labkit.agent.conversation import ToolCall
from labkit.agent.part import first_line, in_part
from labkit.agent.state import AgentState, Artifact, Fact, StatePatch
from labkit.store.contract import storable_text

LONGEST_FACT_KEY = 80  # characters


def next_step(state: AgentState) -> str:
    """The first step of the plan, or the goal itself where there is no plan (any more)."""
    return state.plan[0] if state.plan else state.goal


def observe(state: AgentState, run: str, call: ToolCall, said: Said) -> StatePatch:
    """What this result of a call of `run` adds to what is known."""
    patch = StatePatch(answered=[question for question in state.open_questions if asked_about(question, call.id)])
    value, source = first_line(said.text), f"{run}:{call.id}"
    before = [fact.value for fact in state.known_facts if fact.source == source]
    if before[-1:] == [value]:
        return patch
    patch.facts = [_fact(state, call, value, source)]
    if said.artifact is not None:
        step, _ = in_part(next_step(state), "step")
        patch.artifacts = [artifact_of(said.artifact, step)]
    # subtle: a call that ran before, too, has taken its step out already
    if said.end == "ran" and all(one.startswith((FAILED, NOT_RUN)) for one in before):
        patch.plan = _without(state.plan, call)
    if said.end != "ran":
        patch.risk_flags = [f"{said.end}: {call.name}"]
    return patch


def artifact_of(kept: StoredArtifact, step: str) -> Artifact:
    """What a state says of an artifact that this step has made."""
    return Artifact(artifact_id=kept.artifact_id, type=kept.type, summary=kept.summary, bytes=kept.bytes, step=step)


def _without(plan: list[str], call: ToolCall) -> list[str] | None:
    """The plan without the first step that this call does; None where it does none."""
    place = next((place for place, step in enumerate(plan) if _does(call, step)), None)
    return None if place is None else plan[:place] + plan[place + 1 :]


def _does(call: ToolCall, step: str) -> bool:
    """Whether this call is what the step says."""
    says = set(step.split())
    if call.name not in says:
        return False
    does = {word for text in _texts(json.loads(call.arguments)) for word in text.split()}
    return says - {call.name} <= does


def _texts(given: Any) -> list[str]:
    """What a call was given, without the names of the fields."""
    if isinstance(given, dict | list):
        return [text for one in (given.values() if isinstance(given, dict) else given) for text in _texts(one)]
    return [given if isinstance(given, str) else json.dumps(given)]


def _fact(state: AgentState, call: ToolCall, value: str, source: str) -> Fact:
    key = storable_text(f"{call.name} {call.arguments}"[:LONGEST_FACT_KEY])
    known = any((fact.key, fact.value) == (key, value) for fact in state.known_facts)
    # subtle: a state holds the same fact once, and what is not held cannot tell that this call was observed
    return Fact(key=f"{key} ({call.id})" if known else key, value=value, source=source)
