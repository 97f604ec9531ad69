"""What is sent to the model, and what is learned from a call: a valid history within its bytes, and each thing known once, however often it is seen."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.agent.artifacts import StoredArtifact, artifact_id_of
from labkit.agent.calls import Said
from labkit.agent.conversation import Message, ToolCall, cleaned, open_calls
from labkit.agent.history import history_faults
from labkit.agent.observe import next_step, observe
from labkit.agent.part import LONGEST_PART, SUMMARY, in_part
from labkit.agent.patch import apply_patch
from labkit.agent.sent import INSTRUCTIONS, SLICE_BYTES, to_send
from labkit.agent.state import AgentState, Budget, Fact
from labkit.store.contract import storable_text

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=50)
RESULT = TEXT | st.builds(lambda text, times: text * times, TEXT, st.integers(1, 100))
LINE = 4 * (SUMMARY + 4) + len(f" [older result, cut: artifact {'0' * 32}]")  # bytes of the longest line that stands for a result


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A goal and some turns with their answers, the last one perhaps only in part."""
    said: list[Message] = [{"role": "user", "content": draw(TEXT)}]
    for turn in range(1, draw(st.integers(1, 4)) + 1):
        asked = cleaned(draw(TEXT), [("clean", "{}")] * draw(st.integers(0, 3)), turn)
        said += [asked, *({"role": "tool", "tool_call_id": call.id, "content": draw(RESULT)} for call in open_calls([asked]))]
    return said


@settings(max_examples=80)
@given(conversations(), st.integers(0, 3_000), st.text(st.characters(exclude_categories=["Cs"]), max_size=3_000))
def test_any_conversation(messages: list[Message], room: int, goal: str) -> None:
    """Valid, in order, within the bytes and a line for each call that the model has seen the result of; the newest results are whole, what is cut is handed
    back, nothing else is changed."""
    before = json.dumps(messages)
    request = to_send(messages, AgentState(goal=goal, budget=Budget(max_artifact_bytes_in_context=room)))
    sent = request.messages
    assert (before, []) == (json.dumps(messages), history_faults(sent))
    assert len(sent[0]["content"].encode()) <= len(INSTRUCTIONS) + SLICE_BYTES
    known = json.loads(sent[0]["content"].removeprefix(INSTRUCTIONS))
    assert known["goal"] == known["current_step"] == in_part(goal, "goal")[0]
    pairs = [(was, is_) for was, is_ in zip(messages, sent[1:], strict=True) if was["role"] == "tool"]
    assert [m for m in messages if m["role"] != "tool"] == [m for m in sent[1:] if m["role"] != "tool"]
    new = next((place for place, message in enumerate(reversed(messages)) if message["role"] == "assistant"), 0)  # what it has not seen yet
    assert messages[len(messages) - new :] == sent[len(sent) - new :]
    unseen = sum(len(message["content"].encode()) for message in messages[len(messages) - new :])
    assert sum(len(is_["content"].encode()) for _, is_ in pairs) <= max(room, unseen) + LINE * len(pairs)
    assert all(len(is_["content"]) <= len(was["content"]) for was, is_ in pairs)
    cut = [was != is_ for was, is_ in pairs]
    assert request.short == any(cut)
    handed_back = {whole.text: whole.artifact_id for whole in request.wholes}
    assert all(handed_back[was["content"]] in is_["content"] for was, is_ in pairs if was != is_)
    while pairs and len((whole := pairs.pop()[0]["content"]).encode()) <= room:
        room -= len(whole.encode())
        assert not cut.pop()


def test_what_is_cut() -> None:
    """Of an old result its first line stays, and it is said where the whole is; a short one stays as it is, and so does one that the model has not seen."""
    asked, last = cleaned("", [("look", "{}")] * 3, 1), cleaned("done", [], 2)
    texts = ["old\n" + "x" * 1_000, "ok", "new\n" + "y" * 1_000]
    told = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in zip(open_calls([asked]), texts, strict=True)]
    state = AgentState(goal="look", budget=Budget(max_artifact_bytes_in_context=1_004))
    assert [message["content"] for message in told] == [message["content"] for message in to_send([asked, *told], state).messages[2:]]
    request = to_send([asked, *told, last], state)
    line = f"old [older result, cut: artifact {artifact_id_of(texts[0])}]"
    assert ([line, "ok", texts[2], "done"], True) == ([message["content"] for message in request.messages[2:]], request.short)
    assert [("look", texts[0])] == [(whole.type, whole.text) for whole in request.wholes]
    assert not to_send([asked, *told[1:], last], state).wholes


@pytest.mark.parametrize("goal", ["x" * 5_000, "\N{ROCKET}" * 2_000, '"\n\ud800' * 2_000])
@pytest.mark.parametrize("plan", [[], ["y" * 5_000]])
def test_a_goal_that_fills_the_slice(goal: str, plan: list[str]) -> None:
    """It is shown by its beginning and the name of the artifact that is to hold it, and leaves room for an artifact of the step and for facts."""
    made = seen(AgentState(goal=goal, plan=plan), (call(1), RAN))
    request = to_send([{"role": "user", "content": "go"}], made)
    known = json.loads(request.messages[0]["content"].removeprefix(INSTRUCTIONS))
    assert (1, 1, False) == (len(known["artifacts"]), len(known["facts"]), request.short)
    assert [("goal", storable_text(goal)), *[("step", step) for step in plan]] == [(whole.type, whole.text) for whole in request.wholes]
    for shown, whole in zip((known["goal"], known["current_step"]), request.wholes * 2, strict=False):
        beginning = shown.removesuffix(f" [cut: artifact {whole.artifact_id}]")
        assert 100 < len(beginning) < len(shown) <= LONGEST_PART
        assert whole.text.startswith(beginning)
        assert LONGEST_PART - 12 <= len(json.dumps(shown, ensure_ascii=False).encode()) <= LONGEST_PART


def seen(state: AgentState, *made: tuple[ToolCall, Said]) -> AgentState:
    """The state after these results, one after the other."""
    for call, said in made:
        state = apply_patch(state, observe(state, "t1", call, said))
    return state


def call(number: int, name: str = "check_disk", arguments: str = '{"host": "web-1"}') -> ToolCall:
    return ToolCall(f"turn{number}_call1", name, arguments)


RAN = Said("95%\nmost of it logs", "ran", StoredArtifact("a1", "check_disk", "95%", 9))


def test_what_is_learned() -> None:
    """A fact with its source, an artifact under the step that made it, and one step less to do."""
    state = seen(AgentState(goal="clean", plan=["check_disk web-1", "clean_logs web-1"]), (call(1), RAN))
    assert [Fact(key='check_disk {"host": "web-1"}', value="95%", source="t1:turn1_call1")] == state.known_facts
    assert [("a1", "check_disk web-1", 9)] == [(one.artifact_id, one.step, one.bytes) for one in state.artifacts]
    assert (["clean_logs web-1"], "clean_logs web-1", []) == (state.plan, next_step(state), state.risk_flags)
    assert "clean" == next_step(seen(state, (call(2, "clean_logs"), Said("ok", "ran"))))


@pytest.mark.parametrize("end", ["failed", "refused"])
def test_what_did_not_work(end: Any) -> None:
    """It is flagged, and its step stays in the plan."""
    state = seen(AgentState(goal="clean", plan=["check_disk web-1"]), (call(1), Said("error: no", end)))
    assert (["check_disk web-1"], [f"{end}: check_disk"]) == (state.plan, state.risk_flags)


@settings(max_examples=80)
@given(
    st.lists(st.sampled_from(["check_disk web-1", "clean_logs web-2", "clean_logs", "check_disk_again b", "look"]), max_size=5),
    st.lists(st.tuples(*map(st.sampled_from, (["check_disk", "clean_logs", "other"], ["95%", "45%", ""], ["ran", "failed"]))), max_size=6),
    st.data(),
)
def test_observed_again(plan: list[str], made: list[Any], data: st.DataObject) -> None:
    """After a crash a result comes again: nothing changes, also where an earlier call found the very same. A step leaves the plan once, by one call."""
    state = AgentState(goal="go", plan=plan)
    for number, (name, text, end) in enumerate(made):
        one = (call(number, name), Said(text, end))
        after = seen(state, one)
        assert after == seen(state, *[one] * data.draw(st.integers(1, 3)))
        assert len(after.known_facts) == number + 1
        done = [step for step in state.plan if step in (name, f"{name} web-1")][: end == "ran"]
        assert sorted([*after.plan, *done]) == sorted(state.plan)
        assert [step for step in after.plan if step not in done] == [step for step in state.plan if step not in done]
        state = after


@pytest.mark.parametrize(
    ("step", "arguments", "done"),
    [
        ("clean_logs web-1", '{"host": "web-1"}', True),
        ("clean_logs web-1", '{"host": "web-2"}', False),
        ("clean_logs web-1", '{"host": "web-11"}', False),
        ("clean_logs web-1", '{"host": "web-1", "days": 7}', True),
        ("clean_logs web-1 7", '{"host": "web-1", "days": 8}', False),
        ("run clean_logs on web-1, carefully: web-1", '{"host": "web-1"}', False),
        ("clean_logs web-1 blue", '{"host": "web-1"}', False),
        ("clean_logs", "{}", True),
        ("clean_logs", '{"host": "web-2"}', True),
        ("clean_logs web-1", "{}", False),
        ("clean_logs web-1 web-2", '{"hosts": ["web-1", {"name": "web-2"}]}', True),
        ("clean_logs my shop", '{"app": "my shop"}', True),
        ("other web-1", '{"host": "web-1"}', False),
    ],
)
def test_which_step_a_call_does(step: str, arguments: str, done: bool) -> None:
    """The one that names its tool and nothing else than it was called with: cleaning one host is no step for another."""
    state = seen(AgentState(goal="go", plan=[step, "rest"]), (call(1, "clean_logs", arguments), Said("ok", "ran")))
    assert (["rest"] if done else [step, "rest"]) == state.plan
    later = seen(AgentState(goal="go", plan=["first", step, step]), (call(1, "clean_logs", arguments), Said("ok", "ran")))
    assert (["first", step] if done else ["first", step, step]) == later.plan


def test_a_call_that_was_made_again() -> None:
    """After a crash it may end otherwise: the newest fact is how it ended last, whatever it was before, and its step leaves the plan once."""
    ends = [Said("error: busy", "failed"), Said("95%", "ran"), Said("45%", "ran"), Said("95%", "ran")]
    state = AgentState(goal="go", plan=["check_disk web-1"] * 2)
    for said in ends:
        state = seen(state, *[(call(1), said)] * 2)
        assert said.text == state.known_facts[-1].value
    assert (["check_disk web-1"], ["failed: check_disk"], 4) == (state.plan, state.risk_flags, len(state.known_facts))


@pytest.mark.parametrize("source", ["turn1_call1", "t2:turn1_call1", "", "t1"])
def test_somebody_elses_fact(source: str) -> None:
    """One of another run, or of a client that counts its calls as we do, keeps nothing from being learned."""
    state = seen(AgentState(goal="go", plan=["check_disk"], known_facts=[Fact(key="disk", value="95%", source=source)]), (call(1), RAN))
    assert (2, []) == (len(state.known_facts), state.plan)


def test_what_a_call_had_asked() -> None:
    """Is open no longer once there is a result, also where it is observed again; what another call asked is."""
    open_ones = ["May it? (write local, turn1_call1)", "Which? (turn1_call1)", "Which? (turn1_call11)", "Which? (turn11_call1)"]
    state = seen(AgentState(goal="go", open_questions=open_ones), (call(1), RAN))
    assert open_ones[2:] == state.open_questions
    again = seen(state.model_copy(update={"open_questions": open_ones}), (call(1), RAN))
    assert open_ones[2:] == again.open_questions


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
def test_whatever_a_call_was(arguments: str, text: str) -> None:
    """What is learned is short, and any store can hold it."""
    (fact,) = seen(AgentState(goal="go"), (call(1, arguments=arguments), Said(storable_text(text), "ran"))).known_facts
    assert len(fact.key) < 600
    assert len(fact.value) <= SUMMARY + 4
    assert "\x00" not in fact.key + fact.value
    (fact.key + fact.value).encode()
