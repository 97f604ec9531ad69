"""Drawn rows of `patch`: a state and a patch that share some of their facts, questions, artifacts and flags, and have others of their own.

What must come out is put together from the same parts, so nothing here applies a patch.

Not handled here: odd texts and near misses (the fixed cases have them).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from labkit.agent.state import Artifact, Fact
from labkit.checks.drawn.words import name, names, text
from labkit.checks.patch_cases import Row, row

Item = TypeVar("Item")
WHY = "right for the fixed inputs only"


def rows(rng: Random) -> dict[str, Sequence[Row]]:
    """Rows by the fixed case that they are like."""
    return {"whole": [_whole(rng), _whole(rng)], "known": [_known(rng)], "answered": [_answered(rng)]}


def _mixed(rng: Random, again: Sequence[Item], new: Sequence[Item]) -> list[Item]:
    """Both in one list: those that are there already at places that are drawn, the new ones in their order."""
    mixed = list(new)
    for item in again:
        mixed.insert(rng.randrange(len(mixed) + 1), item)
    return mixed


def _facts(rng: Random, keys: Sequence[str]) -> list[Fact]:
    return [Fact(key=key, value=text(rng), source=rng.choice(("", "check_disk", "user"))) for key in keys]


def _artifacts(rng: Random, ids: Sequence[str]) -> list[Artifact]:
    return [Artifact(artifact_id=one, type="logs", summary=text(rng), bytes=rng.randrange(9_999), step=name(rng)) for one in ids]


def _parts(rng: Random) -> tuple[list[str], list[str]]:
    """Names that are known, and new ones: all of them different."""
    drawn, known = names(rng, rng.randrange(4, 9)), rng.randrange(2, 4)
    return drawn[:known], drawn[known:]


def _whole(rng: Random) -> Row:
    """A patch of everything, of which a part is known."""
    facts, new_facts = (_facts(rng, keys) for keys in _parts(rng))
    newer = facts[0].model_copy(update={"value": text(rng) + ", now"})
    made, new_made = (_artifacts(rng, ids) for ids in _parts(rng))
    (questions, new_questions), (flags, new_flags), plan = _parts(rng), _parts(rng), names(rng, rng.randrange(1, 5))
    answered = [rng.choice(questions), new_questions[0]]
    old: dict[str, Any] = {"goal": text(rng), "plan": names(rng, 2), "known_facts": facts, "artifacts": made}
    patch = {
        "facts": _mixed(rng, [rng.choice(facts)], [*new_facts, newer]),
        "plan": plan,
        "open_questions": _mixed(rng, [rng.choice(questions)], new_questions),
        "answered": answered,
        "artifacts": _mixed(rng, [rng.choice(made)], new_made),
        "risk_flags": _mixed(rng, [rng.choice(flags)], new_flags),
    }
    wanted = {
        "known_facts": [*facts, *new_facts, newer],
        "plan": plan,
        "open_questions": [one for one in (*questions, *new_questions) if one not in answered],
        "artifacts": [*made, *new_made],
        "risk_flags": [*flags, *new_flags],
    }
    return row("a drawn patch of everything", WHY, patch, wanted, **old, open_questions=questions, risk_flags=flags)


def _known(rng: Random) -> Row:
    """Nothing but facts that are known, from another source."""
    facts = _facts(rng, names(rng, rng.randrange(2, 8)))
    again = [fact.model_copy(update={"source": name(rng)}) for fact in rng.sample(facts, rng.randrange(1, len(facts) + 1))]
    return row("drawn facts that are known", WHY, {"facts": again}, {}, goal=text(rng), known_facts=facts)


def _answered(rng: Random) -> Row:
    """Some of many questions are answered."""
    questions = [f"{one}?" for one in names(rng, rng.randrange(3, 9))]
    answered = rng.sample(questions, rng.randrange(1, len(questions)))
    left = [one for one in questions if one not in answered]
    return row("drawn answers", WHY, {"answered": answered}, {"open_questions": left}, goal=text(rng), open_questions=questions)
