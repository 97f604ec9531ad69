"""A patch applied: a new state that has what the old one had and what the patch adds, each thing once.

The old state is unchanged, and the new one shares with it only what cannot be changed. Applying a patch twice in a row is applying it once, so a
patch that a crash makes arrive again does no harm. A fact with a known key and a new value is kept beside the old one, newest last: what was
believed earlier stays to be seen.

Not handled here: an old patch that comes again after newer ones, whose plan would be the plan again; and two writers with patches of their own.
Whoever stores a state compares its version (see `states`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from labkit.agent.state import AgentState, StatePatch

Item = TypeVar("Item")


def apply_patch(state: AgentState, patch: StatePatch) -> AgentState:
    """The state after the patch."""
    after = state.model_copy(deep=True)
    after.known_facts = _joined(state.known_facts, patch.facts, lambda fact: (fact.key, fact.value))
    after.artifacts = _joined(state.artifacts, patch.artifacts, lambda artifact: artifact.artifact_id)
    after.risk_flags = _joined(state.risk_flags, patch.risk_flags, str)
    if patch.plan is not None:
        after.plan = list(patch.plan)
    asked = _joined(state.open_questions, patch.open_questions, str)
    after.open_questions = [question for question in asked if question not in patch.answered]
    return after


def _joined(old: Iterable[Item], new: Iterable[Item], same: Callable[[Item], Hashable]) -> list[Item]:
    """The old items as they stand, then those of the new ones that are not there yet."""
    joined = list(old)
    known = {same(item) for item in joined}
    for item in new:
        if same(item) not in known:
            known.add(same(item))
            joined.append(item)
    return joined
