"""The journal keeps what was said, in order and exactly, and lets one process at a time go on."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from labkit.agent.journal import NOTHING, Cost, ToolJournal
from labkit.errors import StaleJournal, UnstorableValue

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


def test_a_new_process_reads_what_was_said(engine: Engine) -> None:
    """In order, also by an instance that was not there; another task's conversation is another one."""
    for content in ("deploy shop", "which version?"):
        ToolJournal(engine, "t1").append({"role": "user", "content": content})
    ToolJournal(engine, "t2").append({"role": "user", "content": "clean"})
    assert [m["content"] for m in ToolJournal(engine, "t1").messages()] == ["deploy shop", "which version?"]


def test_what_is_given_out_is_no_part_of_the_journal(engine: Engine) -> None:
    """A message that its reader changes stays as it was said."""
    journal = ToolJournal(engine, "t1")
    journal.append({"role": "user", "content": "deploy"})
    journal.messages()[0]["content"] = "delete"
    journal.messages().clear()
    assert journal.messages() == [{"role": "user", "content": "deploy"}]


def test_the_second_of_two_processes_is_told(engine: Engine) -> None:
    """Both have read one message; one writes the second, the other is refused, and reads anew from then on."""
    one, other = ToolJournal(engine, "t1"), ToolJournal(engine, "t1")
    one.append({"content": "first"})
    other.messages()
    one.append({"content": "by one"})
    with pytest.raises(StaleJournal):
        other.append({"content": "by the other"})
    assert [m["content"] for m in other.messages()] == ["first", "by one"]
    other.append({"content": "third"})
    assert len(ToolJournal(engine, "t1").messages()) == 3


def test_what_was_spent_without_a_message(engine: Engine) -> None:
    """It is added to what the run has cost, for whoever reads it; not where another process has gone on, and not before the first word."""
    one, other = ToolJournal(engine, "t1"), ToolJournal(engine, "t1")
    one.spend(Cost(1, 1))
    one.append({"content": "first"}, Cost(10, 100))
    other.messages()
    one.spend(NOTHING)
    one.spend(Cost(5, 50))
    other.spend(Cost(5, 50))
    assert Cost(20, 200) == ToolJournal(engine, "t1").cost()
    one.append({"content": "by one"}, Cost(1, 1))
    other.spend(Cost(1_000, 1_000))
    assert (Cost(21, 201), Cost()) == (ToolJournal(engine, "t1").cost(), ToolJournal(engine, "t2").cost())


def test_the_first_result_of_a_call_stays(engine: Engine) -> None:
    """An empty result is a result, and no result is None."""
    journal = ToolJournal(engine, "t1")
    assert journal.result("call_1") is None
    journal.record("call_1", "")
    journal.record("call_1", "41 % used")
    assert ToolJournal(engine, "t1").result("call_1") == ""
    assert ToolJournal(engine, "t2").result("call_1") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(message=st.dictionaries(st.text(), JSON), result=st.text(st.characters(exclude_categories=[])))
def test_whatever_a_model_or_a_tool_says_comes_back(engine: Engine, message: dict, result: str) -> None:
    """NUL, half of a surrogate pair and all: the same."""
    journal = ToolJournal(engine, "odd")
    before = len(journal.messages())
    journal.append(message)
    assert ToolJournal(engine, "odd").messages()[before:] == [message]
    journal.record(f"call_{before}", result)
    assert journal.result(f"call_{before}") == result


@pytest.mark.parametrize("message", [{"a": float("nan")}, {"a": b"bytes"}, {"a": object()}])
def test_what_is_no_json_is_refused(engine: Engine, message: dict) -> None:
    """Nothing is written."""
    journal = ToolJournal(engine, "t1")
    with pytest.raises(UnstorableValue, match="message cannot be JSON"):
        journal.append(message)
    assert journal.messages() == []


@pytest.mark.parametrize("write", [lambda j: j.record("c", None), lambda j: j.append({1: 2}), lambda j: j.record("c" * 5_000, "ok")])
def test_what_would_come_back_as_something_else_is_refused(engine: Engine, write) -> None:
    """And so is an id that one of the databases could not find again."""
    with pytest.raises(UnstorableValue):
        write(ToolJournal(engine, "t1"))
