"""Patches: pure, each thing once, twice is once, and in whatever order two of them come nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from labkit.agent.patch import apply_patch
from labkit.agent.state import AgentState, Artifact, Fact, StatePatch

FEW = st.sampled_from(["a", "b", "c", ""])
FACTS = st.lists(st.builds(Fact, key=FEW, value=FEW, source=FEW), max_size=4)
ARTIFACTS = st.lists(st.builds(Artifact, artifact_id=FEW, summary=FEW, step=FEW), max_size=3)
TEXTS = st.lists(FEW, max_size=4)
STATES = st.builds(AgentState, goal=FEW, plan=TEXTS, known_facts=FACTS, open_questions=TEXTS, artifacts=ARTIFACTS, risk_flags=TEXTS)
PATCHES = st.builds(
    StatePatch, facts=FACTS, plan=st.none() | TEXTS, open_questions=TEXTS, answered=TEXTS, artifacts=ARTIFACTS, risk_flags=TEXTS
)


@given(STATES, PATCHES)
def test_twice_is_once_and_the_old_state_stays(state: AgentState, patch: StatePatch) -> None:
    """A patch that arrives again changes nothing more, and neither argument is changed."""
    before = state.model_copy(deep=True), patch.model_copy(deep=True)
    once = apply_patch(state, patch)
    assert apply_patch(once, patch) == once
    assert (state, patch) == before


@given(STATES, PATCHES)
def test_what_was_there_keeps_its_place(state: AgentState, patch: StatePatch) -> None:
    """Facts, artifacts and flags only grow at the end."""
    after = apply_patch(state, patch)
    for name in ("known_facts", "artifacts", "risk_flags"):
        old = getattr(state, name)
        assert getattr(after, name)[: len(old)] == old


@given(STATES, PATCHES, PATCHES)
def test_nothing_is_lost_whoever_comes_first(state: AgentState, first: StatePatch, second: StatePatch) -> None:
    """In either order the same facts, artifacts and flags are there in the end."""
    one, other = (apply_patch(apply_patch(state, a), b) for a, b in ((first, second), (second, first)))
    assert {(f.key, f.value) for f in one.known_facts} == {(f.key, f.value) for f in other.known_facts}
    assert {a.artifact_id for a in one.artifacts} == {a.artifact_id for a in other.artifacts}
    assert set(one.risk_flags) == set(other.risk_flags)


def test_a_new_value_stands_beside_the_old_one() -> None:
    """Newest last; the same value again, whoever says it, is not doubled."""
    state = AgentState(goal="g", known_facts=[Fact(key="disk", value="97 %", source="check_disk")])
    patch = StatePatch(facts=[Fact(key="disk", value="41 %", source="check_disk"), Fact(key="disk", value="97 %", source="user")])
    assert [fact.value for fact in apply_patch(state, patch).known_facts] == ["97 %", "41 %"]


def test_plans_and_questions() -> None:
    """An empty plan replaces, None does not; an answer closes its question, also one asked in the same patch."""
    state = AgentState(goal="g", plan=["look"], open_questions=["which namespace?", "which version?"])
    assert apply_patch(state, StatePatch()).plan == ["look"]
    assert apply_patch(state, StatePatch(plan=[])).plan == []
    after = apply_patch(state, StatePatch(open_questions=["who?", "which version?"], answered=["who?", "which namespace?", "never asked"]))
    assert after.open_questions == ["which version?"]


def test_the_new_state_shares_nothing_that_can_be_changed() -> None:
    """What is done to the new one later does not reach the old one, nor the patch."""
    state, patch = AgentState(goal="g", plan=["look"]), StatePatch(plan=["clean"])
    after = apply_patch(state, patch)
    after.plan.append("report")
    after.budget.max_steps = 1
    after.constraints.human_in_the_loop.required_for_risk_levels.clear()
    assert (state, patch) == (AgentState(goal="g", plan=["look"]), StatePatch(plan=["clean"]))
