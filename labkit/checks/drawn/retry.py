"""Drawn cases of `retry`: other numbers of attempts, other calls that fail, other results, other kinds of errors.

Not handled here: errors that hold others (the fixed cases have them).
"""

from __future__ import annotations

from random import Random
from typing import Any

from labkit.checks.common import body
from labkit.checks.drawn.words import name
from labkit.checks.exercise import Case
from labkit.checks.retry_cases import NAME, case, failing, kinds, later, too_few
from labkit.errors import TransientError

MOST = (5, 6, 7, 8, 9, 11, 12)
FALSY: tuple[Any, ...] = (0.0, {}, (), b"", set(), frozenset())
ERRORS = (LookupError, IndexError, BufferError, EOFError, ReferenceError, ImportError, SyntaxError, UserWarning, StopAsyncIteration)


def cases(rng: Random) -> tuple[Case, ...]:
    most, app = rng.choice(MOST), name(rng)
    failures = [rng.randrange(1, most), most]
    slow, seconds = rng.choice(MOST), rng.randrange(2, 90) + 0.5
    refused, some = rng.choice(MOST), rng.sample(FALSY, 3)
    errors = {kind.__name__: kind("some") for kind in rng.sample(ERRORS, 4)}
    before = [TransientError("no answer")] * rng.randrange(3, most)
    return (
        case("four_attempts", most, *(failing(*[""] * n) for n in failures), app=app),
        case("calls_that_take_a_while", slow, failing(*[""] * rng.randrange(1, slow)), seconds=seconds, app=app),
        case("terminal", refused, failing(*[""] * rng.randrange(3, refused), "TerminalError"), app=app),
        Case("falsy_later", body(NAME, later(some, *before, most=most))),
        Case("more_kinds", body(NAME, kinds(errors))),
        Case("below_one", body(NAME, too_few([-rng.randrange(2, 4), -rng.randrange(5, 90)]))),
    )
