"""Whatever a model writes as arguments: what the tool takes, or one line of at most 300 characters that says what is wrong."""

from __future__ import annotations

import json
from datetime import date
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import Field, field_validator

from labkit.agent.arguments import LONGEST_LINE, parse_arguments
from labkit.agent.cloud_tools import Host
from labkit.agent.conversation import LONGEST_ARGUMENTS
from labkit.agent.tools import Arguments
from labkit.errors import BadArguments

ANY_CHARACTER = st.characters(exclude_categories=[])
FIELDS = ["text", "number", "inner", "host"]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(ANY_CHARACTER),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(ANY_CHARACTER), inner),
    max_leaves=8,
)


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Much(Arguments):
    """Fields of many kinds."""

    text: str
    number: float = 1.0
    count: int = 0
    size: Size = Size.SMALL
    day: date | None = None
    names: set[str] = set()
    inner: dict[str, Any] = Field(default_factory=dict)
    host: Host | None = None


class Odd(Arguments):
    """A field whose own check is broken."""

    text: str

    @field_validator("text")
    @classmethod
    def check(cls, text: str) -> str:
        raise KeyError(text)


def deep(depth: int, opens: str = "[", closes: str = "]") -> str:
    return '{"text": "", "inner": {"x": ' + opens * depth + "1" + closes * depth + "}}"


def line(text: str, model: type[Arguments] = Much) -> str:
    """What is wrong with these arguments, after the checks that hold for each such line."""
    with pytest.raises(BadArguments) as caught:
        parse_arguments(text, model)
    said = str(caught.value)
    assert 0 < len(said) <= LONGEST_LINE
    assert said == " ".join(said.split())
    said.encode()
    return said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON: Expecting value at character 0"),
        ('{"text": ', "not JSON: Expecting value at character 9"),
        ('{"text": "a', "not JSON: Unterminated string"),
        ('{"text": "a"} {"text": "b"}', "not JSON: Extra data at character 14"),
        ("null", "must be a JSON object, not null"),
        ("[1]", "must be a JSON object, not a list"),
        ("1", "must be a JSON object, not a number"),
        ("1.5", "must be a JSON object, not a number"),
        ("true", "must be a JSON object, not true or false"),
        ('"{}"', "must be a JSON object, not a text"),
        ('{"text": "a", "text": "a"}', "the field 'text' is given twice"),
        ('{"text": "a", "inner": {"b": [{"c": 1, "c": 2}]}}', "the field 'c' is given twice"),
        ("{}", "text: Field required"),
        ('{"text": "a", "mode": 1}', "mode: Extra inputs are not permitted"),
        ('{"text": 5}', "text: Input should be a valid string"),
        ('{"text": null}', "text: Input should be a valid string"),
        ('{"text": "a", "count": "3"}', "count: Input should be a valid integer"),
        ('{"text": "a", "count": 1.5}', "count: "),
        ('{"text": "a", "count": true}', "count: Input should be a valid integer"),
        ('{"text": "a", "size": "huge"}', "size: Input should be 'small' or 'large'"),
        ('{"text": "a", "day": "soon"}', "day: "),
        ('{"text": "a", "host": {}}', "host.host: Field required"),
        ('{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}', " and 3 more"),
        ('{"text": "a", "number": NaN}', "NaN is not a JSON number"),
        ('{"text": "a", "number": -Infinity}', "-Infinity is not a JSON number"),
        ('{"text": "a", "number": 1e999}', "a number is too large"),
        ('{"text": "a", "number": 1' + 400 * "0" + "}", "a number is too large"),
        ('{"text": "a", "count": -' + 5_000 * "7" + "}", "a number is too large"),
        ('{"text": "\\ud800"}', "half of a character"),
        ('{"text": "\ud800"}', "half of a character"),
        ('{"text": "a\x00b"}', "not JSON: Invalid control character"),
        ('{"\\udfff\\n\\u0000": 1}', "half of a character"),
        ("x" * 1_000_000, f"more than {LONGEST_ARGUMENTS} characters"),
        ('{"text": "' + "x" * 1_000_000 + '"}', f"more than {LONGEST_ARGUMENTS} characters"),
        ('{"' + "k" * 60_000 + '": 1}', "text: Field required; kkk"),
        (deep(500), "too deep"),
        (deep(30_000), "too deep"),
        (deep(8_000, '{"a":', "}"), "too deep"),
        ("[" * 60_000, "too deep"),
        ('{"line\\n\\tend\\u2028": 1, "text": ""}', "line end : Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong(text: str, told: str) -> None:
    """One short line, which names it."""
    assert told in line(text)


def test_a_line_never_repeats_much() -> None:
    """What was written wrongly stays out of the line, as it may be a secret; a long name is cut."""
    assert "swordfish" not in line('{"text": {"word": "swordfish"}, "count": "swordfish", "size": "swordfish"}')
    assert f"{60 * 'k'}: Extra inputs are not permitted" == line(json.dumps({"k" * 5_000: 1, "text": ""}))


def test_a_check_that_breaks() -> None:
    """What a tool's own check raises is no accident of the run either."""
    assert "cannot be checked: KeyError" in line('{"text": "swordfish"}', Odd)
    assert "swordfish" not in line('{"text": "swordfish"}', Odd)


def test_what_is_taken() -> None:
    """Defaults filled in; times, choices and sets as JSON writes them; NUL is a character; a whole number is a number."""
    given = '{"text": "a\\u0000", "number": 2, "day": "2026-01-09", "size": "large", "names": ["b", "b"]}'
    taken = {"text": "a\x00", "number": 2.0, "count": 0, "size": Size.LARGE, "day": date(2026, 1, 9), "names": {"b"}, "inner": {}, "host": None}
    assert taken == parse_arguments(given, Much)
    assert 100 <= len(str(parse_arguments(deep(100), Much)["inner"]))


def test_many_fields_take_no_time() -> None:
    """The work grows with the length and not with its square: thousands of fields are looked at once each."""
    fields = {f"k{number}": 1 for number in range(5_000)}
    assert " and 4998 more" in line(json.dumps(fields))


@settings(max_examples=80)
@given(st.text(ANY_CHARACTER, max_size=200) | ANY_JSON.map(json.dumps) | st.dictionaries(st.sampled_from(FIELDS), ANY_JSON).map(json.dumps))
@example("\ufeff{}")
def test_any_text(text: str) -> None:
    """Arguments, or a line; nothing else is ever raised."""
    try:
        taken = parse_arguments(text, Much)
    except BadArguments:
        line(text)
    else:
        assert isinstance(taken["text"], str)
