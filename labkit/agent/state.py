"""What an agent run knows, as a contract: goal, constraints, budget, plan, facts, open questions, artifacts, risk flags.

Values only: two states with the same content are equal, each model has a JSON Schema (`model_json_schema`), and what does not belong is refused
with the path to it. Facts and artifacts cannot be changed, so a new state may hold those of an old one. A state says by which version of
this contract it was written; one from a later version is refused instead of being read with half of it missing.

Not handled here: changing a state (see `patch`), choosing what a model is shown (see `context`), keeping it.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
LONGEST_RUN = 10**12  # milliseconds, some thirty years: a time that is later than any calendar goes is none


class RiskLevel(StrEnum):
    """What a tool can do at worst: look, change something on this machine, change something in the outside world."""

    READ_ONLY = "read_only"
    WRITE_LOCAL = "write_local"
    EXTERNAL_ACTION = "external_action"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fact(_Value):
    """Something that was found out: a key, a value, and who says so."""

    key: str
    value: str
    source: str = ""


class Artifact(_Value):
    """A large result that is kept elsewhere under `artifact_id`; `bytes` is its size there, `step` the step that made it."""

    artifact_id: str
    type: str = ""
    summary: str = ""
    bytes: int = Field(default=0, ge=0)
    step: str = ""


class Budget(_Part):
    """What a run may use up before it is stopped."""

    max_steps: int = Field(default=20, ge=0)
    max_wall_time_ms: int = Field(default=300_000, ge=0, le=LONGEST_RUN)
    max_llm_tokens: int = Field(default=200_000, ge=0)
    max_artifact_bytes_in_context: int = Field(default=8_000, ge=0)


class HumanInTheLoop(_Part):
    """Which tools wait for a person's word."""

    required_for_risk_levels: list[RiskLevel] = [RiskLevel.WRITE_LOCAL, RiskLevel.EXTERNAL_ACTION]


class Constraints(_Part):
    """What a run must keep to, however it goes about its goal."""

    human_in_the_loop: HumanInTheLoop = HumanInTheLoop()


class AgentState(_Part):
    """The whole of what a run knows. Only `goal` has no default."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    goal: str
    constraints: Constraints = Constraints()
    budget: Budget = Budget()
    plan: list[str] = []
    known_facts: list[Fact] = []
    open_questions: list[str] = []
    artifacts: list[Artifact] = []
    risk_flags: list[str] = []

    def __repr__(self) -> str:
        counts = f"{len(self.plan)} to do, {len(self.known_facts)} facts, {len(self.open_questions)} questions"
        return f"<AgentState {self.goal!r}: {counts}{''.join(f', {flag}' for flag in self.risk_flags)}>"

    __str__ = __repr__


class StatePatch(_Part):
    """A change of a state: what is added, a plan that replaces the old one (None: it stays), and questions that are answered."""

    facts: list[Fact] = []
    plan: list[str] | None = None
    open_questions: list[str] = []
    answered: list[str] = []
    artifacts: list[Artifact] = []
    risk_flags: list[str] = []


class ContextSlice(_Part):
    """What a model is shown of a state in one step."""

    goal: str
    current_step: str
    artifacts: list[Artifact] = []
    facts: list[Fact] = []
    open_questions: list[str] = []
