"""What one run knows, kept in the state that it shares with other agents: what its calls gave, what it asks, and what was flagged.

A state that is full, perhaps because another agent has filled it, stops no run, since the conversation is kept elsewhere: what does not fit is left out, a step
that is done still leaves the plan, and the state is flagged `state_full`. What is to be cut in a request is in the artifact store before, whole. The
first state of a task is made once; the states of later attempts are what is there.

Not handled here: what is learned from a result (see `observe`), the rules of a shared state (see `states`), and a flag for which there is no room either: it is
only logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.calls import Said
from labkit.agent.conversation import ToolCall
from labkit.agent.observe import artifact_of, observe
from labkit.agent.part import Whole
from labkit.agent.state import AgentState, StatePatch
from labkit.agent.states import AgentStates, Patch
from labkit.errors import ValueTooLarge

FULL = "state_full"
_log = logging.getLogger("labkit.agent")


class Known:
    """What the run of `task_id` knows; `state` is the newest that it has seen, and `first` makes the first one."""

    def __init__(
        self, states: AgentStates, artifacts: ArtifactStore, agent_id: str, task_id: str, first: Callable[[], AgentState]
    ) -> None:
        self._states, self._artifacts = states, artifacts
        self._agent_id, self._task_id = agent_id, task_id
        self._kept: set[str] = set()
        self.state = states.begin(agent_id, task_id, first).state

    def learn(self, call: ToolCall, said: Said) -> None:
        """Add what a result tells, on top of what others have written meanwhile; again after a crash changes nothing."""
        self._patch(lambda state: observe(state, self._task_id, call, said))

    def flag(self, *flags: str) -> None:
        """Add risk flags."""
        self._patch(StatePatch(risk_flags=[*flags]))

    def asks(self, question: str) -> None:
        """Add an open question."""
        self._patch(StatePatch(open_questions=[question]))

    def was_told(self, question: str) -> None:
        """Take an open question out."""
        self._patch(StatePatch(answered=[question]))

    def keep(self, wholes: Iterable[Whole]) -> None:
        """Put into the artifact store what a request shows only in part, once in each attempt, and note where it is."""
        new = {whole.artifact_id: whole for whole in wholes if whole.artifact_id not in self._kept}
        stored = [self._artifacts.put(one.text, type=one.type, summary=one.summary) for one in new.values()]
        if stored:
            self._patch(StatePatch(artifacts=[artifact_of(one, step="") for one in stored]))
        self._kept |= new.keys()

    def _patch(self, patch: Patch) -> None:
        try:
            self._write(patch)
        except ValueTooLarge:
            try:
                self._write(lambda state: _what_fits(patch(state) if callable(patch) else patch))
            except ValueTooLarge as error:  # full of flags, too
                _log.warning("task %s: nothing is noted any more: %s", self._task_id, error, extra={"task": self._task_id})

    def _write(self, patch: Patch) -> None:
        self.state = self._states.patch(self._agent_id, self._task_id, patch).state

    def __repr__(self) -> str:
        return f"<Known {self._agent_id} {self._task_id}>"


def _what_fits(patch: StatePatch) -> StatePatch:
    """The patch without its news, flagged: a full state has room for this (see `FOR_FLAGS`)."""
    return patch.model_copy(
        update={"facts": [], "artifacts": [], "open_questions": [], "risk_flags": [*patch.risk_flags, FULL]}
    )
