"""Whether a tool's result stands in what the model is told, as it was; and if not, what became of it.

An answer may put words around a result, or write it as JSON or as Python would: then the result stands there escaped.

Not handled here: which result belongs to which call (see `agent_call_rules`).
"""

from __future__ import annotations

import json

from labkit.checks.agent_talks import Call

NOT_TOLD = "the model is not told what its call gave"
STRIPPED = "a result is stripped: spaces and line ends are part of it"
IN_ASCII = "what is not ASCII is lost from a result"
CUT = "a result is cut"
REPLACED = "an empty result is replaced: a falsy result is a result"


def _forms(text: str) -> tuple[str, ...]:
    """A text as it is, as JSON with and without escapes for what is not ASCII, and as Python writes it."""
    return (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])


def holds(told: str, given: str) -> bool:
    """Whether a result stands in what the model was told."""
    return any(form in told for form in _forms(given))


def why_lost(told: str, given: str) -> str:
    """What became of a result that does not stand in what the model was told."""
    if holds(told, given.strip()):
        return STRIPPED
    words = given.split()
    if words and all(holds(told, word) for word in words if word.isascii()) and not given.isascii():
        return IN_ASCII
    return CUT if words and holds(told, words[0]) and len(told) < len(given) else NOT_TOLD


def as_empty(full: tuple[Call, str, str], call: Call) -> str:
    """What the model should be told of a call that gave an empty text, by what it was told of another call of that tool."""
    other, told, given = full
    form = next(form for form in _forms(given) if form in told)
    around = told.replace(form, "", 1)
    for name, value in other.read.items():
        around = around.replace(str(value), str(call.read.get(name, value)))
    return around.strip()
