"""A state is a contract: what belongs to it comes through JSON unchanged, and what does not is refused with its place."""

import pytest
from pydantic import BaseModel, ValidationError

from labkit.agent.state import AgentState, Artifact, Budget, ContextSlice, Fact, RiskLevel, StatePatch

MODELS = [AgentState, StatePatch, Fact, Artifact, ContextSlice]


def test_a_state_comes_back_from_json() -> None:
    """What is written can be read, to the last part."""
    state = AgentState(
        goal="clean the disk",
        plan=["look", "clean"],
        known_facts=[Fact(key="used", value="97 %", source="check_disk")],
        open_questions=["may /tmp go?"],
        artifacts=[Artifact(artifact_id="log_1", type="tool_result.logs", summary="df", bytes=48_231, step="look")],
        risk_flags=["budget_pressure"],
    )
    assert AgentState.model_validate_json(state.model_dump_json()) == state


def test_the_defaults() -> None:
    """A goal is enough; whatever can change something waits for a person."""
    state = AgentState(goal="g")
    assert state.budget == Budget(max_steps=20, max_wall_time_ms=300_000, max_llm_tokens=200_000, max_artifact_bytes_in_context=8_000)
    assert state.constraints.human_in_the_loop.required_for_risk_levels == [RiskLevel.WRITE_LOCAL, RiskLevel.EXTERNAL_ACTION]
    assert [state.plan, state.known_facts, state.open_questions, state.artifacts, state.risk_flags] == [[]] * 5


def test_two_states_share_no_list() -> None:
    """A default that one state changes is another state's default unchanged."""
    first = AgentState(goal="g")
    first.plan.append("look")
    first.constraints.human_in_the_loop.required_for_risk_levels.clear()
    assert AgentState(goal="g").plan == []
    assert AgentState(goal="g").constraints.human_in_the_loop.required_for_risk_levels


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_has_a_schema_that_refuses_more(model: type[BaseModel]) -> None:
    """The JSON Schema says that nothing else may stand there."""
    assert model.model_json_schema()["additionalProperties"] is False


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"goal": "g", "goals": 1}, ("goals",)),
        ({"goal": "g", "budget": {"max_steps": -1}}, ("budget", "max_steps")),
        ({"goal": "g", "known_facts": [{"key": "k"}]}, ("known_facts", 0, "value")),
        ({"goal": "g", "budget": {"max_wall_time_ms": 10**15}}, ("budget", "max_wall_time_ms")),
        ({"goal": "g", "schema_version": 2}, ("schema_version",)),
        ({"goal": "g", "constraints": {"human_in_the_loop": {"required_for_risk_levels": ["sudo"]}}},
         ("constraints", "human_in_the_loop", "required_for_risk_levels", 0)),
    ],
)  # fmt: skip
def test_what_does_not_belong_is_refused_with_its_place(data: dict, place: tuple) -> None:
    """The error says where."""
    with pytest.raises(ValidationError) as caught:
        AgentState.model_validate(data)
    assert [error["loc"] for error in caught.value.errors()] == [place]


def test_facts_and_artifacts_cannot_be_changed() -> None:
    """So two states may hold the same ones."""
    with pytest.raises(ValidationError):
        Fact(key="k", value="v").value = "w"
    with pytest.raises(ValidationError):
        Artifact(artifact_id="a").bytes = 1
