"""More cases of `context`: how many bytes an item has, and what does not count.

Each text stands in a fact, a question and an artifact, with exactly the room that it needs and with one byte less.

Not handled here: which items are chosen (see `context_cases`).
"""

from __future__ import annotations

from labkit.agent.state import AgentState, ContextSlice
from labkit.checks.context_cases import (
    FULL,
    LONG,
    SOURCES,
    STEP,
    TAKES_LESS,
    THREE,
    Numbers,
    Row,
    fact,
    made,
    row,
    sent,
    state,
)

CHARACTERS, ASCII = (
    "counts characters, not the bytes of UTF-8",
    "counts escapes that are not sent: as if all but ASCII were escaped",
)
ESCAPES, BACKSLASHES = "forgets that quotes and control characters are escaped", "counts escapes that are not sent"
SPACES = "counts spaces or line ends that are not sent"
PARTS = "counts only a part of an item: keys, sources, types and field names are sent too"
TEXTS = (
    ("accents", "\u00e9\u00e8\u0444" * 9, CHARACTERS, ASCII),
    ("emoji", "\U0001f642\U0001f469\u200d\U0001f467" * 6, CHARACTERS, ASCII),
    ("line separators", "\u2028\u2029\x7f\x85" * 9, CHARACTERS, ASCII),
    ("quotes", 'say "hi" ' * 9, ESCAPES, BACKSLASHES),
    ("backslashes", "C:\\logs\\" * 9, ESCAPES, BACKSLASHES),
    ("line ends and tabs", "a\n\tb\r" * 9, ESCAPES, BACKSLASHES),
    ("NUL and other control characters", "\x00\x01\x1f" * 9, ESCAPES, BACKSLASHES),
    ("slashes and apostrophes", "</it's>&" * 9, ESCAPES, BACKSLASHES),
)


def _tight(says: str, whole: AgentState, numbers: Numbers, more: str, less: str) -> tuple[Row, Row]:
    """Exactly room for one item, and one byte less."""
    fits = row(f"{says}, an exact fit", whole, *numbers, less=less)
    return fits, row(f"{says}, a byte too long", whole, room=numbers, spare=-1, more=more)


def _holding(text: str) -> list[tuple[AgentState, Numbers]]:
    """States that hold a text in a fact, a question, an artifact."""
    return [
        (state(known_facts=[fact("k", text)]), ([], [0], [])),
        (state(open_questions=[text]), ([], [], [0])),
        (state(artifacts=[made("log_1", text)]), ([0], [], [])),
    ]


SENT = tuple(
    one
    for says, text, more, less in TEXTS
    for whole, numbers in _holding(text)
    for one in _tight(says, whole, numbers, more, less)
)
_LONG_PARTS: tuple[tuple[str, AgentState, Numbers], ...] = (
    ("a long key", state(known_facts=[fact(LONG, "v")]), ([], [0], [])),
    ("a long source", state(known_facts=[fact("k", "v", LONG)]), ([], [0], [])),
    ("a long artifact_id", state(artifacts=[made(LONG)]), ([0], [], [])),
    ("a long type", state(artifacts=[made("log_1", kind=LONG)]), ([0], [], [])),
    ("a long number", state(artifacts=[made("log_1", size=10**15)]), ([0], [], [])),
)
WHOLES = (
    *(one for says, whole, numbers in _LONG_PARTS for one in _tight(says, whole, numbers, PARTS, TAKES_LESS)),
    row("facts with a source and without, an exact fit", SOURCES, [], range(5), less=TAKES_LESS),
    row("facts with a source and without, a byte too long", SOURCES, [], range(1, 5), room=([], range(5), []), spare=-1, more=PARTS),
)
SILENT = "goal and step alone do not fit, and no BudgetTooSmall tells so"
REFUSED = "goal and step fit exactly, and BudgetTooSmall is raised"


def _least(goal: str, step: str = STEP) -> int:
    return sent(ContextSlice(goal=goal, current_step=step))


def _too_small(says: str, state: AgentState, max_bytes: int, *, step: str = STEP, more: str = SILENT) -> Row:
    return Row(says, state, step, max_bytes, None, more, "")


SMALL = (
    _too_small("a byte less than goal and step", FULL, _least(FULL.goal) - 1),
    _too_small("no byte at all", FULL, 0),
    _too_small("less than nothing", FULL, -1, more="a negative budget is taken for none"),
    _too_small(
        "a goal of emoji, a byte short", state("\U0001f642" * 20), _least("\U0001f642" * 20) - 1, more=CHARACTERS
    ),
    _too_small("a goal of quotes, a byte short", state('"' * 20), _least('"' * 20) - 1, more=ESCAPES),
    _too_small("a long step, a byte short", FULL, _least(FULL.goal, LONG) - 1, step=LONG),
    row("exactly the bytes of goal and step", FULL, less=REFUSED),
    row("a goal of emoji that fits exactly", state("\U0001f642" * 20), less=REFUSED),
)
FIELD = "counts the artifact's `bytes`, which stay where they are: sent is its description"
SIZES = (
    row("an artifact of 10 GB", state(artifacts=[made("log_1", size=10**10)]), [0], spare=20, less=FIELD),
    row(
        "a description longer than what it describes",
        state(artifacts=[made("log_1", LONG, size=0)]),
        spare=100,
        more=FIELD,
    ),
    row(
        "artifacts that fit by their bytes alone",
        state(artifacts=[made("log_1", size=1), made("log_2", size=1)]),
        [0],
        spare=40,
        more=FIELD,
    ),
    row(
        "large ones, and facts",
        state(artifacts=[made("log_1", size=10**6), made("log_2", size=10**6)], known_facts=THREE.known_facts),
        [0, 1],
        [0, 1, 2],
        spare=10,
        less=FIELD,
    ),
)
