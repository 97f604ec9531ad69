"""The exercise `saga`: all steps happen, or what happened is undone in reverse, whatever dies on the way forward or back.

Every place of the failing step, every kind of error, undos that fail in passing and for good; a crash at every crossing of the way forward and of the way
back, and again at every crossing of what a restarted process does. Each process calls twice: who comes after the end hears the same.

Not handled here: two processes with one saga at once (the library's log fences them), and an action that lands after its undo.
"""

from __future__ import annotations

from typing import Any

from labkit.checks import saga_exits, saga_log_rules, saga_rules, saga_undo_rules
from labkit.checks.common import after_crash, body, crash_rule, ends
from labkit.checks.drawn import saga as drawn
from labkit.checks.exercise import Case, Exercise, Property, Seen
from labkit.checks.saga_cases import CRASHES, EVERY, NAME, PLANNED, STAY, TURNED
from labkit.checks.saga_view import View, anywhere, over, views, when


def _called(view: View) -> bool:
    return bool(view.first["calls"])


def _found_something(seen: Seen, facts: dict[str, Any]) -> bool:
    return after_crash(seen, facts) and any(
        view.told and view.first["found"] and _called(view) for view in views(seen, facts)
    )


def _has_happened(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.kind == "left" and any(view.effects for view in views(seen, facts))


def _forward_properties() -> tuple[Property, ...]:
    log = saga_log_rules
    return (
        Property(
            "keys", "every call carries saga:step:do or saga:step:undo", anywhere(saga_rules.keys), EVERY, when(_called)
        ),
        Property(
            "logged before", "a start is in the log before the call", anywhere(log.begun_first), EVERY, _has_happened
        ),
        Property(
            "logged after", "the log says done when it is done", anywhere(log.true_when_written), EVERY, _has_happened
        ),
        Property(
            "forward", "steps that all work happen once each, in order", over(saga_rules.forward), EVERY, when(_called)
        ),
        Property("stops", "the step that fails is the last that is run", over(saga_rules.stops), TURNED, when(_called)),
    )


def _undo_properties() -> tuple[Property, ...]:
    rules, turned = saga_undo_rules, when(saga_undo_rules.turned)
    return (
        Property("exact reverse", "what happened is undone in exact reverse order", over(rules.order), TURNED, turned),
        Property(
            "only what happened", "what did not happen is not undone", over(rules.only_what_happened), TURNED, turned
        ),
        Property("all or nothing", "what may have happened is undone", over(rules.undone), TURNED, turned),
        Property("three tries", "an undo that failed in passing has three tries", over(rules.tries), TURNED, turned),
        Property("what remains", "what cannot be undone is told by name", over(rules.remaining), STAY, turned),
    )


def _last_properties() -> tuple[Property, ...]:
    rules, called = saga_rules, when(_called)
    return (
        Property(
            "goes on",
            "after a crash what is left is done, and only that",
            over(rules.goes_on),
            CRASHES,
            _found_something,
        ),
        Property("failure", "who calls hears which step failed, and why", over(rules.failure), TURNED, called),
        Property("the same again", "a finished saga does nothing and tells the same", over(rules.again), EVERY, called),
        Property(
            "whole log",
            "each start has its end, and one final event closes the log",
            over(saga_log_rules.whole),
            EVERY,
            called,
        ),
        Property("steps stay", "the list of steps is left as it was", over(rules.kept), EVERY, called),
        Property(
            "lets every exit through",
            "what is no Exception goes through, and is no failure",
            saga_exits.exits,
            ("told_to_leave",),
            saga_exits.asked,
        ),
    )


EXERCISE = Exercise(
    id="saga",
    title="Take back what was done",
    chapter=21,
    origin="C",
    minutes=45,
    difficulty=4,
    points=20,
    essential=("exact reverse", "all or nothing", "goes on"),
    signatures={NAME: ("steps", "log")},
    shown=("answer_lost:none", "answer_lost:p1@cloud2.after+crash"),
    cases=(*PLANNED, Case("told_to_leave", body(NAME, saga_exits.play), databases=("sqlite",))),
    drawn=drawn.cases,
    properties=(
        ends(),
        crash_rule(*CRASHES),
        *_forward_properties(),
        *_undo_properties(),
        *_last_properties(),
    ),
    hints=(
        "A process that starts after a crash knows the log and nothing else. Which entries make it go forward, which make it go back, and which say "
        "that there is nothing left to do?",
        "Read the log once. A final event: give that outcome again. No `failed`, `unknown` or `undoing`: run what is not `done`, `started` before and the "
        "end after each. Else go back over all that was started and neither `failed` nor `undone`, in reverse. One loop forward, one loop back.",
        "`unknown = isinstance(error, TimeoutError) or not getattr(error, 'definite', True)`. Undo: `for _ in range(3)`, go round again on "
        "`(TransientError, TimeoutError)`, give up on any other Exception, and go on with the next step. Catch `Exception`, never more. "
        "What was not undone is `remaining`: read it off the log, so that the next caller hears it too.",
    ),
)
