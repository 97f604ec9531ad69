"""The loop itself, with nothing around it: each call answered once and in order, wherever it was stopped; and a model's words cleaned before they are kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from labkit.agent.conversation import (
    LONGEST_ARGUMENTS,
    LONGEST_TEXT,
    MOST_CALLS,
    ODD_NAME,
    Message,
    ToolCall,
    cleaned,
    converse,
    open_calls,
    turns,
)
from labkit.agent.history import history_faults
from labkit.agent.journal import ToolJournal
from labkit.queue.complete import LARGEST_RESULT

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=30)


class Memory:
    """A journal that outlives whoever writes to it."""

    def __init__(self) -> None:
        self.said: list[Message] = []

    def messages(self) -> list[Message]:
        return list(self.said)

    def append(self, message: Message) -> None:
        self.said.append(message)


class Died(BaseException):
    """The process died here."""


def dying_at(death: int) -> Callable[[], None]:
    """What counts its calls and ends the process at one of them."""
    left = [death]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Died

    return step


def three_calls(messages: list[Message]) -> Message:
    """Three calls in one message, one more, then an answer."""
    asked = [[("a", "{}"), ("b", "{}"), ("c", "{}")], [("d", "{}")], []][turns(messages)]
    return cleaned("" if asked else "done", asked, turns(messages) + 1)


@pytest.mark.parametrize("death", range(1, 14))
def test_it_goes_on_where_it_stopped(death: int) -> None:
    """Stopped before or after any thought, answer or word written: the same conversation in the end, each call with one tool message, in order."""
    journal, step, answered = Memory(), dying_at(death), list[str]()

    def append(message: Message) -> None:
        Memory.append(journal, message)
        step()  # it is written, and the process does not live to know it

    def answer(call: ToolCall) -> str:
        answered.append(call.name)
        step()
        return f"{call.name} is done"

    journal.append = append  # type: ignore[method-assign]
    try:
        result = converse(journal, "go", three_calls, answer)
    except Died:
        assert not history_faults(journal.said, running=True)
        result = converse(journal, "go", three_calls, answer)
    assert ("done", []) == (result, history_faults(journal.said))
    assert ["a", "b", "c", "d"] == sorted(set(answered), key=answered.index)
    assert ["a is done", "b is done", "c is done", "d is done"] == [m["content"] for m in journal.said if m["role"] == "tool"]
    assert len(answered) <= 5


def test_nothing_is_asked_again_after_the_end() -> None:
    """A conversation that has ended gives its answer, without a model."""
    journal = Memory()
    assert "done" == converse(journal, "go", three_calls, lambda call: "ok")
    assert "done" == converse(journal, "another goal", pytest.fail, pytest.fail)


def test_open_calls() -> None:
    """Those of the last assistant message that have no answer yet, in order."""
    asks = cleaned(None, [("a", None), ("b", "{}")], 1)
    assert ["turn1_call1", "turn1_call2"] == [call.id for call in open_calls([asks])]
    told = {"role": "tool", "tool_call_id": "turn1_call1", "content": ""}
    assert ["turn1_call2"] == [call.id for call in open_calls([asks, told])]
    assert [] == open_calls([asks, {"role": "user", "content": "go"}]) == open_calls([])


@settings(max_examples=60)
@given(
    st.none() | ANY_TEXT,
    st.lists(st.tuples(ANY_TEXT | st.sampled_from(["", "clean", "x" * 65, "a b", "ä"]), st.none() | ANY_TEXT), max_size=5),
)
def test_whatever_is_said_can_be_kept_and_sent(text: str | None, asked: list[tuple[str, str | None]]) -> None:
    """Ids that differ, names that the chat API takes, and text that every database and every endpoint holds."""
    said = cleaned(text, asked, 3)
    answers = [{"role": "tool", "tool_call_id": call.id, "content": ""} for call in open_calls([said])]
    assert not history_faults([{"role": "user", "content": "go"}, said, *answers])
    assert "\x00" not in str(said)
    json.dumps(said, ensure_ascii=False).encode()
    for call, (name, _) in zip(open_calls([said]), asked, strict=True):
        assert call.name in (name, ODD_NAME)


@pytest.mark.parametrize("character", ["x", "\x00", "\ud800", "\U0001f680"])
def test_bounds(character: str) -> None:
    """A text, arguments and a number of calls without end are cut, and it is said that they were."""
    said = cleaned(character * 1_000_000, [("clean", character * 1_000_000), *[("clean", "{}")] * 999], 1)
    assert LONGEST_TEXT < len(said["content"]) < LONGEST_TEXT + 50
    assert said["content"].endswith(" [cut] [900 more calls cut]")
    assert len(said["content"].encode()) < LARGEST_RESULT
    assert MOST_CALLS == len(open_calls([said]))
    assert LONGEST_ARGUMENTS < len(open_calls([said])[0].arguments) < LONGEST_ARGUMENTS + 50
    assert "xxx" not in repr(open_calls([said])[0])


def test_the_first_result_is_what_everybody_tells(engine: Engine) -> None:
    """Of two results of one call both callers are given the first, and one that begins learns whether it is the one."""
    one, other = ToolJournal(engine, "t1"), ToolJournal(engine, "t1")
    assert (True, False, 1) == (one.begin_call("c"), other.begin_call("c"), other.begun("c"))
    assert (True, False, 2) == (other.begin_call("c", 1), one.begin_call("c", 1), one.begun("c"))
    assert ("first", "first", "first") == (one.settle("c", "first"), other.settle("c", "second"), other.result("c"))
    assert 0 == other.begun("d")
