"""A history that the chat API would refuse is told apart from one that it takes, and what is wrong is said of the right message."""

import pytest

from labkit.agent.history import history_faults

USER = {"role": "user", "content": "clean up"}
DONE = {"role": "assistant", "content": "done"}


def asks(*ids, **more):
    calls = [{"id": one, "type": "function", "function": {"name": "clean", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def answers(call, content="cleaned"):
    return {"role": "tool", "tool_call_id": call, "content": content}


def call(**changed):
    return {"id": "a", "type": "function", "function": {"name": "clean", "arguments": "{}"}, **changed}


VALID = {
    "no tool at all": [USER, DONE],
    "a call and its answer": [USER, asks("a"), answers("a"), DONE],
    "answers in another order": [USER, asks("a", "b", "c"), answers("c"), answers("a"), answers("b"), DONE],
    "an empty result": [USER, asks("a"), answers("a", "")],
    "text beside a call": [USER, asks("a", content="I look"), answers("a"), DONE],
    "an id used again in a later message": [USER, asks("a"), answers("a"), asks("a"), answers("a")],
    "instructions first": [{"role": "system", "content": "be short"}, {"role": "developer", "content": "x"}, USER],
    "parts of text": [{"role": "user", "content": [{"type": "text", "text": "clean up"}]}, DONE],
    "no content beside a call": [USER, {name: it for name, it in asks("a").items() if name != "content"}, answers("a")],
    "fields that are null": [USER, {**DONE, "tool_calls": None, "refusal": None}, USER],
    "arguments that are no JSON": [
        USER,
        asks(tool_calls=[call(function={"name": "x", "arguments": ""})]),
        answers("a"),
    ],
}


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_valid(messages):
    """Nothing is found in what the API takes, nor is anything changed."""
    before = repr(messages)
    assert [] == history_faults(messages)
    assert [] == history_faults(messages, running=True)
    assert before == repr(messages)


FAULTY = {
    "nothing": ([], "there is no message"),
    "a call without an answer": ([USER, asks("a", "b"), answers("a")], "call 'b' has no answer"),
    "a user before the answer": (
        [asks("a"), USER, answers("a")],
        "message 2 (user) comes before an answer to call 'a'",
    ),
    "the model asked again": (
        [asks("a"), asks("b"), answers("b")],
        "message 2 (assistant) comes before an answer to call 'a'",
    ),
    "a system message in between": (
        [asks("a"), {"role": "system", "content": "x"}, answers("a")],
        "message 2 (system) comes before an answer to call 'a'",
    ),
    "answered twice": ([asks("a"), answers("a"), answers("a")], "message 3 answers call 'a' a second time"),
    "nobody asked": ([USER, answers("a")], "message 2 answers 'a', which the last assistant message did not ask for"),
    "asked too long ago": (
        [asks("a"), answers("a"), DONE, answers("a")],
        "message 4 answers 'a', which the last assistant message did not ask for",
    ),
    "no id": (
        [asks("a"), {"role": "tool", "content": "x"}],
        "message 2 answers None, which the last assistant message did not ask for",
    ),
    "an unknown role": ([USER, {"role": "robot", "content": "x"}], "message 2 has the role 'robot'"),
    "no role": ([{"content": "x"}], "message 1 has the role None"),
    "a result that is no text": ([asks("a"), answers("a", 7)], "message 2 (tool) has a content that is no text"),
    "a result that is missing": ([asks("a"), answers("a", None)], "message 2 (tool) has a content that is no text"),
    "an object as a result": ([asks("a"), answers("a", {"x": 1})], "message 2 (tool) has a content that is no text"),
    "a part that is no text": (
        [{"role": "user", "content": [{"type": "text"}]}],
        "message 1 (user) has a content that is no text",
    ),
    "no parts": ([{"role": "user", "content": []}], "message 1 (user) has a content that is no text"),
    "silence": ([USER, {"role": "assistant", "content": None}], "message 2 (assistant) has a content that is no text"),
    "one id twice": ([asks("a", "a"), answers("a")], "message 1 has two calls with the id 'a'"),
    "calls that are no list": ([{**DONE, "tool_calls": {"id": "a"}}], "message 1 has tool_calls that are no list"),
    "a call without an id": ([asks(tool_calls=[call(id=None)])], "message 1 has a tool call without an id"),
    "a call that is a text": ([asks(tool_calls=["clean"])], "message 1 has a tool call without an id"),
    "a call of another type": (
        [asks(tool_calls=[call(type="x")])],
        "message 1 has a tool call 'a' that is no function",
    ),
    "a call without a function": (
        [asks(tool_calls=[call(function=None)])],
        "message 1 has a tool call 'a' that is no function",
    ),
    "a call without a name": (
        [asks(tool_calls=[call(function={"name": "", "arguments": "{}"})])],
        "message 1 has a tool call 'a' without a name",
    ),
    "an empty list of calls": ([USER, {**DONE, "tool_calls": []}], "message 2 (assistant) has an empty list of tool calls"),
    **{
        f"a function that is called {name[:9]!r}": (
            [asks(tool_calls=[call(function={"name": name, "arguments": "{}"})]), answers("a")],
            "message 1 has a tool call 'a' whose name is not 1 to 64 letters, digits, _ or -",
        )
        for name in ("clean logs!", "ä", "x" * 65, "a\n")
    },
    "arguments that were parsed": (
        [asks(tool_calls=[call(function={"name": "x", "arguments": {}})])],
        "message 1 has a tool call 'a' whose arguments are no text",
    ),
}


@pytest.mark.parametrize(("messages", "fault"), FAULTY.values(), ids=FAULTY)
def test_faulty(messages, fault):
    """What the API refuses is found first, and told of the message that it is in."""
    assert fault == history_faults(messages)[0]


def test_open_calls_of_a_run_under_way():
    """The last message's calls may be open while somebody still works on them, earlier ones may not."""
    assert [] == history_faults([USER, asks("a", "b"), answers("b")], running=True)
    assert ["message 3 (assistant) comes before an answer to call 'a'"] == history_faults(
        [USER, asks("a"), asks("b")], running=True
    )


def test_each_fault_is_told():
    """One after the other, in the order of the messages."""
    messages = [answers("x"), asks("a", "b"), answers("a", None), DONE, asks("c")]
    assert [
        "message 1 answers 'x', which the last assistant message did not ask for",
        "message 3 (tool) has a content that is no text",
        "message 4 (assistant) comes before an answer to call 'b'",
        "call 'c' has no answer",
    ] == history_faults(messages)
