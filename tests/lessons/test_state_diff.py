"""The picture of a state before and after: what is new, what is gone, what is there twice, and nothing of it as markup."""

import pytest

from labkit.agent.state import AgentState, Artifact, Budget, Fact
from labkit.lessons.state_diff import GONE, KEPT, NEW, compared, diff


def state(*plan, **more):
    return AgentState(goal="deploy", plan=list(plan), **more)


def test_only_fields_that_differ_have_a_row():
    """The others are named below."""
    drawn = diff(state("a"), state("b"))
    assert ["plan"] == [name for name, _ in drawn.rows]
    assert ("schema version", "goal", "constraints", "budget") == drawn.same[:4]


def test_what_is_new_kept_and_gone():
    """In the order of the new list, and last what is gone."""
    assert ((NEW, "x"), (KEPT, "a"), (GONE, "b")) == compared(["a", "b"], ["x", "a"])


def test_what_is_there_twice_is_shown_twice():
    """A doubled thing is new once, and one of two that goes is gone once."""
    assert ((KEPT, "a"), (NEW, "a")) == compared(["a"], ["a", "a"])
    assert ((KEPT, "a"), (GONE, "a")) == compared(["a", "a"], ["a"])


def test_each_state_is_held_against_the_first():
    """Two orders of the same patches stand beside each other."""
    drawn = diff(state("a"), state("b"), state("a", "c"), names=("before", "one", "other"))
    (_, columns), = drawn.rows
    assert (((KEPT, "a"),), ((NEW, "b"), (GONE, "a")), ((KEPT, "a"), (NEW, "c"))) == columns


def test_the_text_says_it_without_colour():
    """Signs before the words, an empty list in words, and the rest below."""
    text = repr(diff(state(), state("a", known_facts=[Fact(key="disk", value="95%")])))
    assert ["plan", "(nothing)", "+", "a"] == text.splitlines()[2].split()
    assert "+ disk = 95%" in text
    assert text.endswith("open questions, artifacts, risk flags")


def test_models_inside_are_told_by_their_fields():
    """A budget, an artifact: words, not braces."""
    large = Artifact(artifact_id="abcdef0123", summary="a log", bytes=48_231)
    text = repr(diff(state(), state(budget=Budget(max_steps=3), artifacts=[large])))
    assert "+ max steps: 3" in text
    assert "− max steps: 20" in text
    assert "+ abcdef01: a log, 48231 bytes" in text


def test_words_of_a_state_are_never_markup():
    """A fact may hold anything."""
    page = diff(state(), state("<script>alert(1)</script>"))._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_change_can_be_heard():
    """Signs have their words for whoever does not see them."""
    page = diff(state("a"), state("b"))._repr_html_()
    assert 'aria-label="added"' in page
    assert 'aria-label="gone"' in page


def test_names_belong_to_states():
    """As many names as states."""
    with pytest.raises(ValueError, match="2 states have 1 names"):
        diff(state(), state(), names=("one",))
