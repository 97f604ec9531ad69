"""The slice fits its bytes as they are sent, for every state, and leaves out nothing that would have fitted."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labkit.agent.context import select_context
from labkit.agent.state import AgentState, Artifact, ContextSlice, Fact
from labkit.errors import BudgetTooSmall

ODD = st.sampled_from(["", "a", "é", "🙂", "e\u0301", "\x00", '"\\', "\u2028", "x" * 300, "👩‍👩‍👧"]) | st.text(max_size=8)
FACTS = st.lists(st.builds(Fact, key=ODD, value=ODD, source=ODD), max_size=5)
ARTIFACTS = st.lists(st.builds(Artifact, artifact_id=ODD, summary=ODD, step=st.sampled_from(["now", "earlier"])), max_size=4)
STATES = st.builds(AgentState, goal=ODD, known_facts=FACTS, open_questions=st.lists(ODD, max_size=4), artifacts=ARTIFACTS)


def sent(chosen: ContextSlice) -> int:
    return len(chosen.model_dump_json().encode())


def tried_one_by_one(state: AgentState, max_bytes: int) -> ContextSlice:
    """The same, slowly: the whole slice is measured after each item."""
    chosen = ContextSlice(goal=state.goal, current_step="now")
    if sent(chosen) > max_bytes:
        raise BudgetTooSmall
    wanted = [("artifacts", item) for item in state.artifacts if item.step == "now"]
    wanted += [("facts", fact) for fact in reversed(state.known_facts)]
    for name, item in [*wanted, *(("open_questions", question) for question in state.open_questions)]:
        with_it = chosen.model_copy(update={name: [*getattr(chosen, name), item]})
        chosen = with_it if sent(with_it) <= max_bytes else chosen
    chosen.facts.reverse()
    return chosen


@given(STATES, st.integers(0, 2_000))
@example(AgentState(goal="g"), 0)
def test_as_if_each_item_were_tried(state: AgentState, max_bytes: int) -> None:
    """Never more than the bytes allowed, and the same choice as by measuring everything again for each item."""
    try:
        expected = tried_one_by_one(state, max_bytes)
    except BudgetTooSmall:
        with pytest.raises(BudgetTooSmall):
            select_context(state, "now", max_bytes)
        return
    chosen = select_context(state, "now", max_bytes)
    assert chosen == expected
    assert sent(chosen) <= max_bytes


@given(STATES)
def test_an_exact_fit_fits(state: AgentState) -> None:
    """A slice that has everything comes out whole at exactly its size, and not at one byte less."""
    everything = select_context(state, "now", 10**9)
    exact = sent(everything)
    assert select_context(state, "now", exact) == everything
    if everything != ContextSlice(goal=state.goal, current_step="now"):
        assert select_context(state, "now", exact - 1) != everything


def test_a_long_fact_does_not_hide_older_ones() -> None:
    """The newest fact is too large: it is skipped, the older one is in."""
    state = AgentState(goal="g", known_facts=[Fact(key="old", value="short"), Fact(key="new", value="x" * 500)])
    assert [fact.key for fact in select_context(state, "now", 200).facts] == ["old"]


def test_the_newest_facts_win_and_stand_in_the_order_of_the_state() -> None:
    """Room for two of three: the two newest, oldest first."""
    state = AgentState(goal="g", known_facts=[Fact(key=str(n), value="v") for n in range(3)])
    two = sent(ContextSlice(goal="g", current_step="now", facts=state.known_facts[1:]))
    assert [fact.key for fact in select_context(state, "now", two).facts] == ["1", "2"]
