"""What must be true of the way back: what is undone, in which order, how often it is tried, and what is told of an undo that fails.

Not handled here: the way forward (see `saga_rules`).
"""

from __future__ import annotations

from labkit.checks.exercise import Finding
from labkit.checks.saga_view import View, raised, said

LOST = "a lost answer is taken for a refusal: what the step did stays"
FORGOTTEN = "what a dead process did stays: the list of what is done died with it"
NOTHING = "undoes nothing"
NOT_HEARD = "an error of a step is taken for a success"
STOPS = "stops at the first undo that fails: the others stay"
GIVEN_UP = "an undo that failed in passing is given up"
COMES_OUT = "an error of a step comes out, and nothing is undone"
OWN_END = "another error than SagaFailed comes out"
UNDER_WAY = "what was under way when the process died is taken for undone"
LEFT_OUT = "an undo is left out"
IN_ORDER = "undoes in the order of the steps, not in reverse"
ANY_ORDER = "undoes in another order than exact reverse"
NEVER_HAPPENED = "undoes a step that did not happen"
NEVER_RAN = "undoes steps that never ran"
TOO_OFTEN = "an undo is tried more than three times"
FINAL_AGAIN = "an undo that failed for good is tried again"
TWICE = "an undo that worked is run again"
TAKEN_FOR_DONE = "an undo that failed is taken for done"


def turned(view: View) -> bool:
    """Whether the plan has a way back and the answer asked for an undo."""
    return bool(view.plan.to_undo) and bool(view.done(1) or view.asked("undo"))


def undone(view: View) -> Finding | None:
    """Nothing is left but what could not be undone."""
    plan = view.plan
    if plan.fails_at is None:
        return None
    stays = [name for name in view.there if name not in plan.remaining]
    # subtle: where nobody can know that it did not happen, an undo is asked for though there is nothing to see
    skipped = [s.name for s in plan.to_undo if s.name not in view.asked("undo")] if view.clean else []
    if not stays and not skipped:
        return None
    name = (stays or skipped)[0]
    failing = plan.names[plan.fails_at]
    what = (
        f"{plan.resource(name)} is still there"
        if stays
        else f"nobody can know whether {name!r} happened, and it is not undone"
    )
    return Finding(
        f"step {failing!r} failed, {what}, and the call {said(view.first)}", _why_left(view, stays or skipped)
    )


def _why_left(view: View, left: list[str]) -> str:
    plan = view.plan
    if view.clean and any(("done", step.name) in view.log for step in plan.steps if step.fails):
        return NOT_HEARD
    if not view.clean and ["undoing", left[0]] in view.first["found"]:
        return UNDER_WAY
    if set(left) == {step.name for step in plan.steps if step.fails}:
        return GIVEN_UP if set(left) & set(view.asked("undo")) else LOST
    if not view.clean and not any(step.for_good for step in plan.steps):
        return FORGOTTEN
    if not view.done(1) and not view.asked("undo"):
        ours = not view.first["error"] or view.first["came"] == "made"
        return NOTHING if ours else COMES_OUT if view.first["came"] == "same" else OWN_END
    tried = view.asked("undo")
    gave_up = [step for step in plan.to_undo if step.undo_fails and step.name in tried]
    if any(step.for_good for step in gave_up):
        return STOPS
    return GIVEN_UP if gave_up else LEFT_OUT


def order(view: View) -> Finding | None:
    """The last one that was done is the first one that is undone."""
    place = view.plan.names.index
    in_world, asked = list(dict.fromkeys(view.done(1))), view.asked("undo")
    for found in (asked, in_world):
        if found != sorted(found, key=place, reverse=True):
            why = IN_ORDER if found == sorted(found, key=place) else ANY_ORDER
            return Finding(f"the undos came in the order {', '.join(map(repr, found))}", why)
    return None


def only_what_happened(view: View) -> Finding | None:
    """What did not happen is not undone; who was under way when its process died may be."""
    plan = view.plan
    ran = [step.name for step in plan.ran]
    found = [*view.asked("undo"), *view.done(1)]
    never = [name for name in found if name not in ran]
    if never and plan.fails_at is not None:
        return Finding(f"step {never[0]!r} was never run, and its undo was asked for", NEVER_RAN)
    wanted = [step.name for step in plan.to_undo]
    extra = [name for name in found if name not in wanted] if view.clean and plan.fails_at is not None else []
    if extra:
        return Finding(f"step {extra[0]!r} did not happen, and its undo was asked for", NEVER_HAPPENED)
    return None


def tries(view: View) -> Finding | None:
    """An undo that failed in passing has three tries, any other error ends them."""
    for step in view.plan.to_undo:
        count = view.count(step.name, "undo")
        if view.clean and count < step.tries:
            errors = ", ".join(type(make()).__name__ for make in step.undo_fails[:count])
            return (
                Finding(f"the undo of {step.name!r} raised {errors} and was not tried again", GIVEN_UP)
                if count
                else None
            )
        if count > step.tries:
            why = TOO_OFTEN if step.tries == 3 else FINAL_AGAIN if step.undo_fails else TWICE
            return Finding(f"the undo of {step.name!r} was asked for {count} times in one call, not {step.tries}", why)
    return None


def remaining(view: View) -> Finding | None:
    """What could not be undone is told by name, in undo order."""
    wanted, first = view.plan.remaining, view.first
    if not wanted or view.found_ended:
        return None
    names = ", ".join(map(repr, wanted))
    if not first["error"]:
        return Finding(
            f"the undo of {names} failed for good, and the call returned", "an undo that failed is swallowed"
        )
    if raised(first, "SagaFailed"):
        return Finding(f"the undo of {names} failed for good, and the call {said(first)}", TAKEN_FOR_DONE)
    if not raised(first, "CompensationFailed"):
        why = "another error than CompensationFailed comes out of an undo that failed"
        return Finding(f"the undo of {names} failed for good, and the call {said(first)}", why)
    found = first["error"]["data"].get("remaining")
    if found == wanted:
        return None
    same = isinstance(found, list) and sorted(map(str, found)) == sorted(wanted)
    why = "remaining is not in undo order" if same else "remaining does not name what is still there"
    return Finding(f"what remains is {names}, and CompensationFailed says {found!r}", why)
