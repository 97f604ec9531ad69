"""The exercise `deadline`: run steps until the time is up, and say honestly what was done in time.

What it is run in stands in `deadline_cases`, what must hold in `deadline_rules`.

Not handled here: stopping a step that does not end by itself; a step is told how long it has, and keeps to it or not.
"""

from __future__ import annotations

from labkit.checks import deadline_rules as rules
from labkit.checks.common import crash_rule, ends, exits_rule
from labkit.checks.deadline_cases import CASES, EXCEEDED, IN_TIME, NAME
from labkit.checks.drawn import deadline as drawn
from labkit.checks.exercise import Exercise, Property

EXERCISE = Exercise(
    id="deadline",
    title="No longer worth doing",
    chapter=11,
    origin="C",
    minutes=15,
    difficulty=2,
    points=8,
    essential=("hands the time down", "tests before each step", "tells what was done", "steady clock"),
    signatures={NAME: ("steps", "deadline", "clock")},
    shown=("in_time:none", "late_in_the_middle:none"),
    cases=CASES,
    drawn=drawn.cases,
    properties=(
        Property(
            "runs what is in time", "every step in order, and a list of what they returned", rules.all_in_time, IN_TIME
        ),
        Property(
            "hands the time down",
            "each step is given the seconds that remain",
            rules.seconds_left,
            (*IN_TIME, "full", *EXCEEDED),
            rules.ran_steps,
        ),
        Property(
            "tests before each step",
            "no step begins when nothing remains",
            rules.tested_before,
            EXCEEDED,
            rules.ran_steps,
        ),
        Property("exactly is in time", "a step that ends exactly at the deadline counts", rules.exactly, ("full",)),
        Property(
            "tells what was done", "DeadlineExceeded with the results that were in time", rules.exceeded, EXCEEDED
        ),
        Property(
            "no steps, no results", "without steps the result is []", rules.no_steps, ("no_steps", "no_steps_past")
        ),
        Property(
            "a step's own error",
            "comes through, and nothing more runs",
            rules.own_error,
            ("own_error", "late_error", "own_deadline"),
            rules.step_failed,
        ),
        Property(
            "an error of any kind",
            "what a step raises comes through, StopIteration and a group of errors too",
            rules.every_kind,
            ("kinds",),
            rules.ran_steps,
        ),
        Property(
            "runs each place of the list",
            "a step that stands in the list twice runs twice",
            rules.same_step,
            ("same_step",),
            rules.ran_steps,
        ),
        Property(
            "steady clock",
            "a stepped wall clock changes nothing",
            rules.stepped,
            ("stepped",),
            unless=("runs what is in time", "hands the time down"),
        ),
        Property(
            "steady clock, late step",
            "a wall clock stepped back gives no more time",
            rules.stepped_late,
            ("stepped_late",),
            unless=("tells what was done",),
        ),
        Property(
            "leaves the rest alone",
            "the list of steps stays as it was, and nobody waits",
            rules.leaves_alone,
            (*IN_TIME, "full", *EXCEEDED, "own_error", "late_error"),
            rules.ran_steps,
        ),
        Property(
            "days count too", "a deadline in two days leaves two days", rules.seconds_left, ("in_two_days",), rules.ran_steps
        ),
        Property("starts afresh", "each run begins with nothing", rules.afresh, ("twice",)),
        crash_rule("crashes"),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "There are two moments at which you must look at the clock around each step. Which? And which of the clock's two readings may jump while you run?",
        "A deadline is an instant, so you need `clock.now()` once, to learn how many seconds are left. From there on count with `clock.monotonic()`. "
        "Before a step nothing left (`<= 0`) is too late; after it only less than nothing (`< 0`) is.",
        "`end = clock.monotonic() + (deadline - clock.now()).total_seconds()`. For each step: `left = end - clock.monotonic()`, raise if `left <= 0`, "
        "`result = step(left)`, raise if `clock.monotonic() > end`, append. Raise `DeadlineExceeded(completed=results)`; catch nothing.",
    ),
)
