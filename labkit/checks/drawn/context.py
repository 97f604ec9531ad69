"""Drawn rows of `context`: other goals and steps, other items, and other numbers of those for which there is room.

Items of a kind are equally long, and the room that is left is less than one of them needs. So which ones fit is said by their number alone, and nothing
here chooses.

Not handled here: escapes and other odd lengths (the fixed cases have them).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from labkit.agent.state import AgentState
from labkit.checks.context_cases import COMMA, OFF, Row, fact, made, row
from labkit.checks.drawn.words import name, names, text

WHY = "right for the fixed inputs only"
LEAST = 30  # bytes that an item needs at the least


def rows(rng: Random) -> dict[str, Sequence[Row]]:
    """Rows by the fixed case that they are like."""
    return {"roomy": [_roomy(rng)], "newest": [_newest(rng), _newest(rng)], "skips": [_skips(rng)], "exact": _exact(rng)}


def _state(rng: Random, step: str) -> tuple[AgentState, list[int]]:
    """A state with some of everything, and the numbers of the artifacts that belong to the step."""
    own = [rng.random() < 0.5 for _ in range(rng.randrange(3, 7))]
    artifacts = [
        made(one, text(rng), step=step if mine else name(rng), size=rng.randrange(9_999))
        for one, mine in zip(names(rng, len(own)), own, strict=True)
    ]
    facts = [fact(key, text(rng), name(rng)) for key in names(rng, rng.randrange(2, 6))]
    state = AgentState(goal=text(rng), artifacts=artifacts, known_facts=facts, open_questions=names(rng, rng.randrange(1, 5)))
    return state, [number for number, mine in enumerate(own) if mine]


def _roomy(rng: Random) -> Row:
    step = name(rng)
    state, own = _state(rng, step)
    facts, questions = range(len(state.known_facts)), range(len(state.open_questions))
    return row("drawn items, and room for all", state, own, facts, questions, step=step, spare=rng.randrange(500), more=WHY, less=WHY)


def _alike(rng: Random, count: int) -> list[str]:
    """So many different texts of one length."""
    return [f"{number:09}" for number in rng.sample(range(10**9), count)]


def _newest(rng: Random) -> Row:
    """Room for some of many facts: the newest."""
    count = rng.randrange(4, 30)
    room, key = rng.randrange(1, count), name(rng)
    state = AgentState(goal=text(rng), known_facts=[fact(key, value) for value in _alike(rng, count)])
    newest, spare = range(count - room, count), rng.randrange(LEAST)
    return row(f"room for {room} drawn facts of {count}", state, [], newest, step=name(rng), spare=spare, more=WHY, less=WHY)


def _skips(rng: Random) -> Row:
    """Long items at places that are drawn, and short ones beside them."""
    facts, questions = _alike(rng, rng.randrange(2, 6)), _alike(rng, 3)
    long = "x" * rng.randrange(700, 900)
    at, also_at = rng.randrange(len(facts) + 1), rng.randrange(len(questions) + 1)
    facts.insert(at, long)
    questions.insert(also_at, long)
    state = AgentState(goal=text(rng), known_facts=[fact("value", value) for value in facts], open_questions=questions)
    short = [number for number in range(len(facts)) if number != at]
    also_short = [number for number in range(len(questions)) if number != also_at]
    return row("drawn items, some too long", state, [], short, also_short, step=name(rng), spare=rng.randrange(400), more=WHY, less=WHY)


def _exact(rng: Random) -> list[Row]:
    """Exactly the bytes of everything, and a byte less: the last question is left out."""
    step = name(rng)
    state, own = _state(rng, step)
    facts, questions = range(len(state.known_facts)), range(len(state.open_questions))
    whole = (own, facts, questions)
    return [
        row("drawn items, an exact fit", state, *whole, step=step, less=OFF),
        row("drawn items, a byte short", state, own, facts, questions[:-1], room=whole, spare=-1, step=step, more=COMMA),
    ]
