"""The exercise `retry`: call again what failed, a bounded number of times, with waits that double.

What it is run in stands in `retry_cases`, what must hold in `retry_rules`.

Not handled here: jitter and what the other side asks for (see `backoff`), and the effect that is done twice (see `idempotency`).
"""

from __future__ import annotations

from labkit.checks import retry_rules as rules
from labkit.checks.common import crash_rule, ends, exits_rule
from labkit.checks.drawn import retry as drawn
from labkit.checks.exercise import Exercise, Property
from labkit.checks.retry_cases import CASES, COUNTED, NAME, failing

EXERCISE = Exercise(
    id="retry",
    title="Try again, but not for ever",
    chapter=11,
    origin="C",
    minutes=15,
    difficulty=1,
    points=8,
    essential=("counts attempts", "doubles the waits", "terminal at once"),
    signatures={NAME: ("fn", "max_attempts", "clock")},
    shown=tuple(f"four_attempts:{faults}" for faults in ("none", failing("", ""), failing("", "", "", ""))),
    cases=CASES,
    drawn=drawn.cases,
    properties=(
        Property("counts attempts", "at most max_attempts calls, none after a success", rules.count, COUNTED, rules.called),
        Property(
            "doubles the waits",
            "1, 2, 4, 8, ... s pass between attempts, and no time before or after",
            rules.waits,
            (*COUNTED, "calls_that_take_a_while", "terminal"),
            rules.waited,
        ),
        Property("hands the result back", "the first success is returned", rules.result, COUNTED, rules.succeeded),
        Property(
            "a falsy result is a result",
            "None, False, 0 and empty things are returned at once",
            rules.falsy_is_result,
            ("falsy",),
            rules.asked_for_nothing,
        ),
        Property(
            "retries every error",
            "every Exception but TerminalError is tried again",
            rules.every_error,
            ("kinds",),
            rules.called,
            unless=("counts attempts",),
        ),
        Property(
            "says that all failed",
            "RetriesExhausted with attempts, from the last error",
            rules.all_failed,
            (*COUNTED, "kinds"),
            rules.exhausted,
        ),
        Property(
            "terminal at once",
            "a TerminalError comes out as it is, without another call",
            rules.terminal_as_it_is,
            ("terminal", "terminal_alone", "terminal_kind"),
            rules.met_terminal,
        ),
        Property(
            "refuses less than one",
            "max_attempts below 1 is a ValueError, and fn is not called",
            rules.bad_number,
            ("below_one",),
            needs="counts attempts",
        ),
        Property(
            "starts afresh",
            "each use counts and waits from the beginning",
            rules.no_memory,
            ("twice", "same_function"),
            rules.called,
            unless=("counts attempts", "doubles the waits"),
        ),
        Property(
            "whatever is returned is a result",
            "a falsy result also after a failure, and an error that is returned",
            rules.any_result,
            ("falsy_later", "returned_errors"),
            rules.reached_a_result,
            unless=("counts attempts",),
        ),
        Property(
            "retries whatever its kind",
            "an error of the program, too, and a group of errors",
            rules.every_kind,
            ("more_kinds",),
            rules.called,
            unless=("counts attempts",),
        ),
        crash_rule("third_time"),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "With three attempts, how many waits are there? Write down when each call happens if all of them fail, and what the caller should hear at the end.",
        "Loop over the attempts. A success leaves the loop with `return`. A failure is one of three: terminal (raise it), the last one allowed "
        "(RetriesExhausted), or one to wait for: `clock.sleep(2 ** attempt)` with attempt counted from 0. Catch `Exception`, nothing wider.",
        "`if max_attempts < 1: raise ValueError`, then `for attempt in range(max_attempts)` with `try: return fn()`, `except TerminalError: raise` and "
        "`except Exception as error:`. In the last one: on the last attempt `raise RetriesExhausted(attempts=max_attempts) from error`, "
        "on any other `clock.sleep(2 ** attempt)`.",
    ),
)
