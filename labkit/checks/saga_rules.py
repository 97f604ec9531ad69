"""What must be true of a saga on its way forward and of what it tells: keys, order, the step that fails, the same answer again.

Not handled here: the way back (see `saga_undo_rules`), and what must be in the log (see `saga_log_rules`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.exercise import Finding
from labkit.checks.saga_view import FINAL, Told, View, raised, said

NO_KEY = "no key: the cloud cannot tell a second try from a new effect"
ONE_KEY = "action and undo carry one key: the cloud takes the undo for the action"
NO_SAGA = "the key does not name the saga: two sagas would share one effect"
NO_STEP = "the key does not name the step: all steps share one effect"
NEITHER = "the key names neither the saga nor the step: made anew each time it is no key"
OTHER_KEY = "the key is not saga:step:do or saga:step:undo"
CRASH_FAILS = "a crash is taken for a failure of the step: back instead of forward"
FALSY = "what a step returns is taken for its outcome"
SWALLOWED = "the failure of a step is swallowed"
NOT_NAMED = "SagaFailed does not name the step that failed"
NO_CAUSE = "the error of the step is lost: it is not the __cause__ of SagaFailed"
AGAIN = "a finished saga is run again"
TAKEN_FOR_A_SUCCESS = "a saga that has failed is taken for a success"
ANOTHER_OUTCOME = "a finished saga gives another outcome when it is called again"
OTHER_SAGA = "what another saga did is taken for this one's"
FORGETS = "does again what the log says is done"


def keys(view: View) -> Finding | None:
    """Every action and every undo carries its own key, in every process and every try."""
    plan = view.plan
    for name, what, key, _ in (call for told in view.told for call in told["calls"]):
        wanted = plan.key(name, what)
        if key != wanted:
            return Finding(
                f"the {what} of {name!r} was called with key {key!r}, not {wanted!r}", _why_key(view, name, key)
            )
    right = {plan.key(name, what) for name in plan.names for what in ("do", "undo")}
    wrong = next((effect for effect in view.effects if effect.key not in right), None)
    if wrong:
        why = NO_KEY if wrong.key is None else OTHER_KEY
        return Finding(f"{wrong.name} was called with key {wrong.key!r}, not one such as {sorted(right)[0]!r}", why)
    return None


def _why_key(view: View, name: str, key: Any) -> str:
    if not key:
        return NO_KEY
    if key in (view.plan.key(name, "do"), view.plan.key(name, "undo")):
        return ONE_KEY
    saga, step = view.plan.saga_id in str(key), name in str(key)
    if saga and step:
        return OTHER_KEY
    return NO_SAGA if step else NO_STEP if saga else NEITHER


def forward(view: View) -> Finding | None:
    """A saga whose steps all work does each of them once, in order, and returns."""
    plan, first = view.plan, view.first
    if plan.fails_at is not None:
        return None
    done, undone = view.done(0), view.done(1)
    falsy = any(not step.gives for step in plan.steps)
    if undone or raised(first, "SagaFailed") or raised(first, "CompensationFailed"):
        what = f"took back {', '.join(undone)}" if undone else "took back nothing"
        turned = "undoes a saga whose steps all worked" if view.clean else CRASH_FAILS
        return Finding(f"every step worked, and the call {what} and {said(first)}", FALSY if falsy else turned)
    if first["error"]:
        return Finding(f"every step worked, and the call {said(first)}", "fails on its own")
    if len(done) > len(set(done)):
        twice = next(name for name in done if done.count(name) > 1)
        return Finding(f"step {twice!r} happened {done.count(twice)} times", NO_KEY)
    return _left_out(view, plan.names, done)


NAMES_ALIKE = "steps are left out: one whose name is part of the name of another that is done"


def _left_out(view: View, wanted: list[str], done: list[str]) -> Finding | None:
    missing = [name for name in wanted if name not in done]
    if missing:
        if view.number and view.clean:
            return Finding(f"after another saga in the same process step {missing[0]!r} was not run", OTHER_SAGA)
        if not done and view.clean:
            return Finding(f"no step was run, and the call {said(view.first)}", "does nothing")
        alike = len(missing) == 1 and any(missing[0] in name for name in done)
        left_out = NAMES_ALIKE if alike else "steps are left out"
        why = left_out if view.clean else "what was under way when the process died is taken for done"
        return Finding(f"step {missing[0]!r} never happened, and the call {said(view.first)}", why)
    if done != wanted:
        return Finding(f"the steps happened in the order {', '.join(done)}", "runs the steps in another order")
    return None


def stops(view: View) -> Finding | None:
    """The step that fails is the last one that is run, and it is run once."""
    plan = view.plan
    if plan.fails_at is None:
        return None
    failing, later = plan.names[plan.fails_at], plan.names[plan.fails_at + 1 :]
    went_on = [name for name in [*view.asked("do"), *view.done(0)] if name in later]
    if went_on:
        return Finding(f"step {failing!r} failed, and step {went_on[0]!r} was run", "goes on after a step that failed")
    if view.count(failing, "do") > 1:
        return Finding(
            f"step {failing!r} failed, and was run {view.count(failing, 'do')} times in one call",
            "a step that failed is tried again",
        )
    return _left_out(view, [step.name for step in plan.ran if step.happens], view.done(0))


def failure(view: View) -> Finding | None:
    """Who calls hears SagaFailed with the step, and with its error where this call has seen it."""
    plan, first = view.plan, view.first
    if plan.fails_at is None or plan.remaining or view.found_ended:
        return None
    failing = plan.names[plan.fails_at]
    if not first["error"]:
        return Finding(f"step {failing!r} failed, and the call returned", SWALLOWED)
    if raised(first, "CompensationFailed"):
        passing = any(step.undo_fails for step in plan.steps)
        falsy = any(not step.gives for step in plan.steps)
        why = (
            FALSY
            if falsy
            else "an undo that failed in passing is given up"
            if passing
            else "says CompensationFailed though every undo worked"
        )
        return Finding(f"every undo could be done, and the call {said(first)}", why)
    if not raised(first, "SagaFailed"):
        return Finding(
            f"step {failing!r} failed, and the call {said(first)}", "another error than SagaFailed comes out"
        )
    if first["error"]["data"].get("step") != failing:
        return Finding(
            f"step {failing!r} failed, SagaFailed says step {first['error']['data'].get('step')!r}", NOT_NAMED
        )
    if first["cause"] in ("none", "another"):
        found = first["error"]["cause"]
        was = "has no __cause__" if found is None else f"has the __cause__ {found['type']}"
        return Finding(f"step {failing!r} raised an error, and SagaFailed {was}", NO_CAUSE)
    return None


def _outcome(told: Told) -> list[Any]:
    error = told["error"]
    if not error:
        return ["returned"]
    data = error["data"]
    return [error["type"], data.get("step"), data.get("remaining")]


def _right_again(view: View) -> bool:
    """Whether a process that found the saga at its end told its outcome."""
    plan, first = view.plan, view.first
    if plan.fails_at is None or not first["error"]:
        return not first["error"] and plan.fails_at is None
    data = first["error"]["data"]
    if plan.remaining:
        return raised(first, "CompensationFailed") and data.get("remaining") == plan.remaining
    return raised(first, "SagaFailed") and data.get("step") == plan.names[plan.fails_at]


def again(view: View) -> Finding | None:
    """A saga that has ended does nothing more and tells every caller the same."""
    before = view.first
    if view.found_ended and not before["calls"] and not _right_again(view):
        end = before["found"][-1][0]
        return Finding(
            f"the log ends with {end}, and the call {said(before)}",
            ANOTHER_OUTCOME if before["error"] else TAKEN_FOR_A_SUCCESS,
        )
    for told in view.told[1:]:
        if told["calls"]:
            name, what, *_ = told["calls"][0]
            return Finding(f"the saga had ended, and called again it asked for the {what} of {name!r}", AGAIN)
        if told["error"] is None and before["error"]:
            return Finding(f"the first call {said(before)}, and the second returned", TAKEN_FOR_A_SUCCESS)
        if _outcome(told) != _outcome(before):
            return Finding(f"the first call {said(before)}, and the second {said(told)}", ANOTHER_OUTCOME)
        if told["log"] != told["found"]:
            said_more = told["log"][-1][0]
            return Finding(
                f"the saga had ended, and called again it wrote {said_more!r}", "writes into the log of a finished saga"
            )
    return None


def goes_on(view: View) -> Finding | None:
    """Whoever comes after a crash does what is left, and only that."""
    found = [(event, step) for event, step in view.first["found"]]
    over = {(name, "do") for event, name in found if event == "done"}
    over |= {(name, "undo") for event, name in found if event == "undone"}
    turned = next((event for event, _ in found if event in ("failed", "unknown", "undoing", "undone")), "")
    for name, what, *_ in view.first["calls"]:
        if any(event in FINAL for event, _ in found):
            return Finding(f"the log ends with {found[-1][0]}, and the {what} of {name!r} was asked for", AGAIN)
        if (name, what) in over:
            said_so = "done" if what == "do" else "undone"
            return Finding(f"the log says that {name!r} is {said_so}, and its {what} was asked for again", FORGETS)
        if what == "do" and turned:
            return Finding(
                f"the log says {turned!r}, and step {name!r} was run", "goes forward again although a step had failed"
            )
    return None


def kept(view: View) -> Finding | None:
    """The list of steps is the caller's."""
    if all(told["kept"] for told in view.told):
        return None
    return Finding("the list of steps is another one after the call", "changes the list of steps that it was given")
