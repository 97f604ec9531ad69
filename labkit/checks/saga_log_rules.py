"""What must be in the log, and when: before a call goes out, after it came back, and at the end.

Only this is read in it: a process that comes after a crash knows nothing else.

Not handled here: what the log is used for (see `saga_rules`).
"""

from __future__ import annotations

from labkit.checks.exercise import Finding
from labkit.checks.saga_view import ENDS, FINAL, View

NOT_STARTED = "a step is run before its start is in the log"
NOT_UNDOING = "an undo is run before its start is in the log"
TOO_EARLY = "the log says done before it is done"
UNDONE_EARLY = "the log says undone before it is undone"


def begun_first(view: View) -> Finding | None:
    """At every moment: what the world shows has its start in the log."""
    for what, event, why in ((0, "started", NOT_STARTED), (1, "undoing", NOT_UNDOING)):
        for name in view.done(what):
            if (event, name) not in view.log:
                call = "action" if what == 0 else "undo"
                return Finding(f"the {call} of {name!r} has happened, and the log holds no {event!r} of it", why)
    return None


def true_when_written(view: View) -> Finding | None:
    """At every moment: what the log says is done is done."""
    happens = [step.name for step in view.plan.steps if step.fails is None]
    for event, name in view.log:
        if event == "done" and name in happens and name not in view.done(0):
            return Finding(f"the log says that {name!r} is done, and it has not happened", TOO_EARLY)
        if event == "undone" and name in view.plan.names and name not in view.done(1):
            for_good = name in [step.name for step in view.plan.steps if step.for_good]
            why = "an undo that failed is logged as undone" if for_good else UNDONE_EARLY
            return Finding(f"the log says that {name!r} is undone, and it is not", why)
    return None


def whole(view: View) -> Finding | None:
    """At the end: each step and each undo has its start and its end, and one final event closes the log."""
    return _final(view) or _steps(view) or _undos(view)


def _final(view: View) -> Finding | None:
    plan, finals = view.plan, [event for event, _ in view.log if event in FINAL]
    wanted = "completed" if plan.fails_at is None else "compensation_failed" if plan.remaining else "compensated"
    if not finals:
        return Finding(f"the saga has ended, and the log holds no {wanted!r}", "no final event ends the log")
    if finals != [wanted]:
        many = len(finals) > 1
        why = "more than one final event" if many else "the final event is another than the outcome"
        return Finding(f"the log says {', '.join(finals)}, not once {wanted}", why)
    named = next((step for event, step in view.log if event == wanted and step), "")
    if named:
        return Finding(f"the log says {wanted!r} of a step {named!r}", "a final event is logged for a step")
    if view.log[-1][0] != wanted:
        return Finding(
            f"after {wanted!r} the log says {view.log[-1][0]!r}", "something is logged after the final event"
        )
    return None


def _steps(view: View) -> Finding | None:
    for step in view.plan.ran:
        events = [event for event, name in view.log if name == step.name and event in ("started", *ENDS)]
        if "started" not in events:
            return Finding(f"step {step.name!r} was run, and the log holds no 'started' of it", NOT_STARTED)
        if events[-1] == "started" or events[0] != "started":
            return Finding(
                f"step {step.name!r} has ended, and the log says {', '.join(events)}",
                "the end of a step is not logged after its start",
            )
    return None


def _undos(view: View) -> Finding | None:
    for step in view.plan.to_undo:
        events = [event for event, name in view.log if name == step.name and event in ("undoing", "undone")]
        if "undoing" not in events:
            return Finding(f"{step.name!r} was undone, and the log holds no 'undoing' of it", NOT_UNDOING)
        if step.for_good and "undone" in events:
            said = "the log says that it is undone"
            return Finding(f"the undo of {step.name!r} failed, and {said}", "an undo that failed is logged as undone")
        if not step.for_good and (events[-1] != "undone" or events[0] != "undoing"):
            return Finding(
                f"{step.name!r} is undone, and the log says {', '.join(events)}",
                "the end of an undo is not logged after its start",
            )
    return None
