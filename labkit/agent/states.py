"""The state that several agents share: one row, one version, and a patch goes through only on what it was made from.

A patch is read, applied without any lock, and written in one commit where the version is still the one that was read. Two that
patch at once both get in, one after the other; who says which version it had seen (`expected`) gets `StaleState` when that is no longer
the newest, and nothing has changed. There is no way to write a whole state over another. A patch that changes nothing writes nothing,
so one that arrives again after a crash leaves the version alone. A crash leaves the old state or the new one. A state that cannot be read, or that a
later labkit has written, is an error and never an empty state.

Not handled here: damage that still reads as a state, and who may write (see `queue` for leases).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import Engine, select, text

from labkit.agent.patch import apply_patch
from labkit.agent.state import SCHEMA_VERSION, AgentState, StatePatch
from labkit.commit import one_commit
from labkit.database import reading, shown
from labkit.errors import StaleState, StateNotFound, StoreBusy, StoreCorrupt, UnstorableValue, UsageError, ValueTooLarge
from labkit.statement import for_both
from labkit.store.contract import plain_count, plain_key
from labkit.tables import agent_states

TRIES = 100  # of a patch without an expected version, each lost to another that went through
LARGEST_STATE = 1_048_576  # bytes of its JSON; large results belong into the ArtifactStore
FOR_FLAGS = 4_096  # bytes more for a patch that brings nothing but flags: a full state can still be flagged
Keys = list[tuple[str, str]]
Patch = StatePatch | Callable[[AgentState], StatePatch]

_BEGIN = for_both(
    "INSERT INTO agent_states (agent_id, task_id, version, state) VALUES (:agent, :task, 1, :state) "
    "ON CONFLICT (agent_id, task_id) DO NOTHING RETURNING version"
)
_WRITE = for_both(
    "{with}UPDATE agent_states SET state = :state, version = version + 1, updated_at = {own_now} "
    "WHERE agent_id = :agent AND task_id = :task AND version = :version RETURNING version"
)
# subtle: as bytes where a damaged text can hold anything, or the driver would refuse to read it
_GET = {
    "sqlite": text(
        "SELECT version, CAST(state AS BLOB) AS state FROM agent_states WHERE agent_id = :agent AND task_id = :task"
    ),
    "postgresql": text("SELECT version, state FROM agent_states WHERE agent_id = :agent AND task_id = :task"),
}
_COUNT = text("SELECT count(*) FROM agent_states")
_VERSION = text("SELECT version FROM agent_states WHERE agent_id = :agent AND task_id = :task")


@dataclass(frozen=True)
class KeptState:
    """A state as it is stored, and the version that a patch of it names as `expected`."""

    agent_id: str
    task_id: str
    version: int
    state: AgentState

    def __str__(self) -> str:
        return f"<KeptState {self.agent_id} {self.task_id} version={self.version}>"

    __repr__ = __str__


class AgentStates:
    """States in the table `labkit.tables.agent_states`, each under an agent and a task."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, agent_id: str, task_id: str, state: AgentState | Callable[[], AgentState]) -> KeptState:
        """Keep `state` as version 1 unless there is one; what is there then. So a restarted process calls it again.

        A function that makes the state is called only where there is none. `UnstorableValue`, and for more than 1 MiB `ValueTooLarge`; nothing is kept then.
        """
        ids = _ids(agent_id, task_id)
        if not isinstance(state, AgentState) and callable(state):
            try:
                return self.get(agent_id, task_id)
            except StateNotFound:
                state = state()
        written = _encode(state)
        if self._run(_BEGIN, ids | {"state": written}):
            return KeptState(ids["agent"], ids["task"], 1, _decode(ids, written))
        return self.get(agent_id, task_id)

    def get(self, agent_id: str, task_id: str) -> KeptState:
        """The newest. `StateNotFound`, `StoreCorrupt` for one that is damaged, `UsageError` for one of a later labkit."""
        ids = _ids(agent_id, task_id)
        with reading(self._engine) as connection:
            row = connection.execute(_GET[self._engine.dialect.name], ids).first()
        if row is None:
            raise StateNotFound(f"agent {agent_id!r} has no state of task {task_id!r}")
        if not isinstance(row.version, int) or row.version < 1:
            raise _damaged(ids)
        return KeptState(ids["agent"], ids["task"], row.version, _decode(ids, row.state))

    def version(self, agent_id: str, task_id: str) -> int | None:
        """The newest version without its state, for whoever waits for a change; None when there is none."""
        with reading(self._engine) as connection:
            return connection.execute(_VERSION, _ids(agent_id, task_id)).scalar()

    def patch(self, agent_id: str, task_id: str, patch: Patch, *, expected: int | None = None) -> KeptState:
        """Apply the patch to the newest state, or only to version `expected`; what is stored then. A function makes its patch of that state.

        `StaleState` when another was written after the expected version, `StateNotFound`, `ValueTooLarge` for what would be more than 1 MiB (4 KiB more
        where it brings nothing but flags, so that a full state can be flagged), and without an expected version
        `StoreBusy` when 100 others came between; nothing was changed by this call then.
        """
        if expected is not None:
            plain_count("expected", expected)
        for _ in range(TRIES):
            kept = self.get(agent_id, task_id)
            if expected is not None and kept.version != expected:
                raise _stale(kept.agent_id, kept.task_id, expected, kept.version)
            made = patch(kept.state) if callable(patch) else patch
            after = apply_patch(kept.state, made)
            if after == kept.state:
                return kept
            # subtle: without a lock since the read; the version tells
            written = self._write(kept, after, LARGEST_STATE + FOR_FLAGS * _only_flags(kept.state, made))
            if written is not None:
                return written
        raise StoreBusy(f"others changed the state of task {task_id} {TRIES} times in the meantime")

    def list(self, agent_id: str | None = None) -> Keys:
        """Agent and task of each state, in this order; only those of one agent if it is named."""
        query = select(agent_states.c.agent_id, agent_states.c.task_id).order_by(*agent_states.primary_key)
        if agent_id is not None:
            query = query.where(agent_states.c.agent_id == plain_key("agent_id", agent_id))
        with reading(self._engine) as connection:
            return [(row.agent_id, row.task_id) for row in connection.execute(query)]

    def count(self) -> int:
        """How many states there are."""
        with reading(self._engine) as connection:
            return int(connection.execute(_COUNT).scalar_one())

    def _write(self, kept: KeptState, after: AgentState, largest: int) -> KeptState | None:
        """The new version in place of the one that was read; None when that is not there any more."""
        ids = {"agent": kept.agent_id, "task": kept.task_id}
        written = _encode(after, largest)
        if not self._run(_WRITE, ids | {"state": written, "version": kept.version, "now": None}):
            return None
        return KeptState(kept.agent_id, kept.task_id, kept.version + 1, _decode(ids, written))

    def _run(self, statement: dict[str, str], values: dict[str, Any]) -> bool:
        """One statement, one commit; whether it wrote."""
        with one_commit(self._engine) as execute:
            return bool(execute(statement[self._engine.dialect.name], values))

    def __repr__(self) -> str:
        return f"<AgentStates {shown(self._engine)}>"


def _ids(agent_id: str, task_id: str) -> dict[str, str]:
    ids = {"agent": plain_key("agent_id", agent_id), "task": plain_key("task_id", task_id)}
    for name, value in ids.items():
        if not value:
            raise UnstorableValue(f"{name}_id must not be empty", path=f"{name}_id")
    return ids


def _only_flags(state: AgentState, patch: StatePatch) -> bool:
    """Whether it brings nothing else; it may still take something away: a question that was answered, steps that are done."""
    news = patch.facts or patch.artifacts or patch.open_questions
    return not news and (patch.plan is None or patch.plan == state.plan[len(state.plan) - len(patch.plan) :])


def _stale(agent_id: str, task_id: str, expected: int, newest: int) -> StaleState:
    told = f"version {expected} of task {task_id} of agent {agent_id} is not the newest, {newest} is"
    return StaleState(f"{told}: read it and apply again", version=newest)


def _damaged(ids: dict[str, str]) -> StoreCorrupt:
    return StoreCorrupt(f"the state of task {ids['task']} of agent {ids['agent']} is damaged")


def _encode(state: AgentState, largest: int = LARGEST_STATE) -> str:
    if not isinstance(state, AgentState):
        raise UnstorableValue(f"state must be an AgentState, not {type(state).__name__}", path="state")
    try:
        # subtle: escaped, so that NUL, which a model may well say, is text that every database holds
        written = json.dumps(state.model_dump(mode="json", warnings="error"), allow_nan=False)
        same = AgentState.model_validate(json.loads(written)) == state
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise UnstorableValue(f"state cannot be JSON: {error}", path="state") from error
    if not same:
        raise UnstorableValue("state would come back from JSON as something else", path="state")
    if (length := len(written)) > largest:
        raise ValueTooLarge(
            f"the state has {length} bytes, more than {largest}: put large results into the ArtifactStore",
            path="state",
        )
    return written


def _decode(ids: dict[str, str], written: str | bytes) -> AgentState:
    try:
        found = json.loads(written)
        later = found["schema_version"] if isinstance(found, dict) else None
        if isinstance(later, int) and later > SCHEMA_VERSION:
            told = f"the state of task {ids['task']} of agent {ids['agent']} has schema version {later}"
            raise UsageError(f"{told}, and this labkit knows {SCHEMA_VERSION}: update it")
        return AgentState.model_validate(found)
    except (ValidationError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(ids) from error
