"""The requests of `endpoint`, as data: what a client sends, and what a right answer makes of it.

Each row is there to show one bug, and names it. What the exercise leaves open (a priority of 1.0, a text of spaces) may go either way.

Not handled here: sending them (see `endpoint_play`), and judging (see `endpoint_rules`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ACCEPTED, REFUSED, EITHER, FULL = "accepted", "refused", "either", "full"
TEXT = "deploy the shop"


@dataclass(frozen=True)
class Row:
    """`wants` says what must come of it. `text`, `priority` and `key` are what `submit` must be given then; `wrong` is the likely mistake."""

    says: str
    body: bytes
    wants: str = ACCEPTED
    text: str = TEXT
    priority: int = 0
    key: str | None = None
    wrong: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    pieces: int = 1  # in which the body arrives
    task_id: str = "task-81f3"
    full: float | None = None  # the queue is full, and says so many seconds
    seconds: str = ""  # what `Retry-After` must say

    @property
    def parts(self) -> list[bytes]:
        size = max(1, -(-len(self.body) // self.pieces))
        return [self.body[at : at + size] for at in range(0, max(1, len(self.body)), size)]


def sent(says: str, fields: Any, **more: Any) -> Row:
    """A row with these fields as JSON."""
    return Row(says, json.dumps(fields, ensure_ascii=False).encode(), **more)


def _texts(*texts: tuple[str, str]) -> list[Row]:
    return [sent(says, {"user_input": text}, text=text, wrong=ODD_TEXT) for says, text in texts]


ODD_TEXT = "the text does not reach the queue as it was sent"
NOT_202 = "a task that was accepted is not answered with 202 and its id"
ACCEPTS: Sequence[Row] = (
    sent("a task", {"user_input": TEXT}, wrong=NOT_202),
    sent("a task with fields that nobody asked for", {"user_input": TEXT, "note": [1], "task_id": "mine"}, wrong="refuses fields that it does not know"),
    sent("a task whose body comes in four pieces", {"user_input": "ä" * 40}, text="ä" * 40, pieces=4, wrong="looks at the first piece of the body"),
    sent("a task to which the queue gives an odd id", {"user_input": TEXT}, task_id='a/b "ü" 7', wrong=NOT_202),
    sent("a task that the queue numbers 0", {"user_input": TEXT}, task_id="0", wrong=NOT_202),
)
TEXTS: Sequence[Row] = (
    *_texts(("a text with spaces around it", "  deploy the shop\n ")),
    *_texts(("a text in small and large letters", "Deploy the Shop NOW")),
    *_texts(("a text in other letters", "выкатить магазин \U0001f680"), ("a text of one character", "x"), ("the text 0", "0")),
    *_texts(("a text with line ends and quotes", 'a "b"\n\tc\\d'), ("a text of 70,000 characters", "deploy " * 10_000 + "now"), ("the text null", "null")),
    Row("a text in escapes", b'{"user_input": "\\u0432\\ud83d\\ude80"}', text="\u0432\U0001f680", wrong=ODD_TEXT),
    sent("a text of spaces", {"user_input": "   "}, wants=EITHER),
)
LOST = "the priority is not passed on"
PRIORITIES: Sequence[Row] = (
    sent("priority 5", {"user_input": TEXT, "priority": 5}, priority=5, wrong=LOST),
    sent("priority 0", {"user_input": TEXT, "priority": 0}, priority=0, wrong="takes the priority 0 for none"),
    sent("priority -3", {"user_input": TEXT, "priority": -3}, priority=-3, wrong="takes a negative priority for none"),
    sent("priority 1000", {"user_input": TEXT, "priority": 1000}, priority=1000, wrong="a limit on priorities that nobody asked for"),
    sent("no priority", {"user_input": TEXT}, priority=0, wrong="another priority than 0 where none is asked for"),
    sent("priority 2.0", {"user_input": TEXT, "priority": 2.0}, wants=EITHER, priority=2, wrong="changes a priority that it accepts"),
)
LOST_KEY = "the Idempotency-Key header is not passed on"
KEYS: Sequence[Row] = (
    sent("a key", {"user_input": TEXT}, key="order-17", headers=(("Idempotency-Key", "order-17"),), wrong=LOST_KEY),
    sent("another key", {"user_input": TEXT}, key="k 2/Ü", headers=(("idempotency-key", "k 2/Ü"),), wrong=LOST_KEY),
    sent("no key", {"user_input": TEXT}, wrong="a key that the client never sent"),
    sent("a key in the body", {"user_input": TEXT, "idempotency_key": "b"}, wrong="takes the key from the body, not from the header"),
    sent(
        "a key and a priority",
        {"user_input": TEXT, "priority": 7},
        priority=7,
        key="7",
        headers=(("X-Request-Id", "r1"), ("Idempotency-Key", "7")),
        wrong=LOST_KEY,
    ),
)
NO_JSON, NO_OBJECT = "a body that is not JSON is not answered with 400", "takes it for granted that JSON is an object"
NOT_OBJECTS: Sequence[Row] = (
    *(Row(says, body, REFUSED, wrong=NO_JSON) for says, body in (
        ("an empty body", b""),
        ("a body that is no JSON", b"deploy the shop"),
        ("half of a body", b'{"user_input": "dep'),
        ("two objects", b'{"user_input": "a"}{"user_input": "b"}'),
        ("a form", b"user_input=deploy&priority=1"),
        ("bytes that are no text", b'{"user_input": "\xff\xfe\xfa"}'),
        ("a byte that is no text, amid others that are", b'{"user_input": "dep\xffloy"}'),
    )),
    *(Row(f"the JSON {body.decode()}", body, REFUSED, wrong=NO_OBJECT) for body in (
        b'["user_input"]', b'"user_input"', b"3", b"null", b"true", b"[]", b'""', b'[{"user_input": "a"}]',
    )),
    Row("JSON that is nested 100,000 times", b"[" * 100_000, REFUSED, wrong="JSON that is nested too deeply raises RecursionError, which is no ValueError"),
)  # fmt: skip
MISSING, EMPTY, NO_TEXT = "a missing user_input is accepted or fails", "an empty user_input is accepted", "a user_input that is no text is accepted or fails"
BAD_TEXTS: Sequence[Row] = (
    sent("no user_input", {"priority": 1}, wants=REFUSED, wrong=MISSING),
    sent("an empty object", {}, wants=REFUSED, wrong=MISSING),
    sent("another field in place of user_input", {"input": TEXT}, wants=REFUSED, wrong=MISSING),
    sent("an empty user_input", {"user_input": ""}, wants=REFUSED, wrong=EMPTY),
    *(sent(f"user_input {json.dumps(value)}", {"user_input": value}, wants=REFUSED, wrong=NO_TEXT) for value in (
        None, 3, 0, 1.5, True, False, [TEXT], [], {"text": TEXT},
    )),
)  # fmt: skip
NUMERIC = "converts the priority instead of asking for an integer"
WRONG_PRIORITY: dict[str, str] = {
    '"high"': "a priority that is a text is accepted or fails",
    '"7"': NUMERIC,
    "1.5": NUMERIC,
    "true": "takes true for an integer: bool is a kind of int",
    "false": "takes false for an integer: bool is a kind of int",
    "null": "takes null for a missing priority",
    '""': "takes an empty priority for a missing one",
    "[]": "takes an empty priority for a missing one",
    "[1]": "a priority that is a list or an object is accepted or fails",
    '{"level": 1}': "a priority that is a list or an object is accepted or fails",
    "NaN": NUMERIC,
    "1e999": "a priority that is infinite is accepted or fails",
    "0.5": NUMERIC,
}
BAD_PRIORITIES: Sequence[Row] = tuple(
    Row(f"priority {text}", b'{"user_input": "deploy the shop", "priority": %b}' % text.encode(), REFUSED, wrong=wrong)
    for text, wrong in WRONG_PRIORITY.items()
)
ROUNDS, AT_LEAST = "Retry-After is not rounded up to whole seconds", "Retry-After is less than 1"
FULLS: Sequence[Row] = tuple(
    sent(f"a full queue that asks for {asked:g} s", {"user_input": TEXT}, wants=FULL, full=asked, seconds=seconds, wrong=wrong)
    for asked, seconds, wrong in (
        (30.0, "30", ROUNDS), (1.0, "1", ROUNDS), (2.5, "3", ROUNDS), (0.2, "1", AT_LEAST), (59.01, "60", ROUNDS), (41.001, "42", ROUNDS), (0.0, "1", AT_LEAST),
        (7200.7, "7201", ROUNDS),
    )
)  # fmt: skip
SEVERAL: Sequence[Row] = (PRIORITIES[0], KEYS[0], ACCEPTS[0], BAD_TEXTS[0], NOT_OBJECTS[1], FULLS[0], KEYS[2], PRIORITIES[4], ACCEPTS[3])
