"""What must be true of a deployment that is a saga: all of it is there once, or nothing, and whoever calls hears which.

Not handled here: the runs that show it (see `deploy_saga`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.exercise import Finding, Seen

Facts = dict[str, Any]
STEPS = ("create_namespace", "deploy_container", "configure_route")
UNDOS = {
    "delete_namespace": "create_namespace",
    "remove_container": "deploy_container",
    "delete_route": "configure_route",
}
KINDS = ("namespace", "container", "route")
CLOUDS = (  # place, application, what is refused there
    ("Falkenstein", "shop", ""),
    ("Helsinki", "shop", "configure_route shop"),
    ("Nuremberg", "wiki", ""),
)

NO_KEY = "the key is not passed on: a second try is a new effect"
OWN_KEY = "a key of its own instead of the one that the step is called with"
OTHER_APP = "acts on another application than it was asked for"
OTHER_CLOUD = "acts on another cloud than it was given"
OTHER_CALL = "a step calls something else than it is named for"
WRONG_STEPS = "the steps are not the three that were asked for, in their order"
NOT_HEARD = "an error of a step is taken for a success"
LOST = "a lost answer is taken for a refusal: what the step did stays"
SWALLOWS = "errors of an undo are swallowed: the saga is told that it is undone"
NO_UNDO = "an undo that does not take back what its step did"
WRONG_UNDO = "an undo that the cloud refuses: it takes away what another step still stands on"


def told(seen: Seen) -> list[dict[str, Any]]:
    """What each deployment of the last process told; nothing if it did not come to its end."""
    value = seen.end.last.value if seen.kind != "left" and seen.end.last.how == "returned" else None
    return value if isinstance(value, list) else []


def built(seen: Seen, facts: Facts) -> Finding | None:
    """The saga is three steps, and building them does nothing."""
    for one in told(seen):
        if one["early"]:
            return Finding(
                f"before any step was run the cloud was called {one['early']} times",
                "calls the cloud while the steps are built",
            )
        if one["alien"]:
            return Finding(f"deploy_saga gave {one['alien']}, not SagaSteps", "does not give SagaSteps")
        if one["names"] != list(STEPS):
            return Finding(f"the steps are {', '.join(one['names']) or 'none'}", WRONG_STEPS)
    return None


def ran(seen: Seen, facts: Facts) -> bool:
    """Whether a step was run that reached the cloud."""
    return bool(told(seen)) and bool(seen.end.effects)


def key(seen: Seen, facts: Facts) -> Finding | None:
    """Each effect carries the key that its step was called with."""
    for effect in seen.end.effects:
        step, what = UNDOS.get(effect.name, effect.name), "undo" if effect.name in UNDOS else "do"
        saga = next((saga for saga, app in facts["apps"] if app == effect.target), None)
        wanted = f"{saga}:{step}:{what}"
        if saga is None:
            return Finding(f"{effect.name} was called for {effect.target!r}", OTHER_APP)
        if effect.key != wanted:
            said = f"{effect.name} {effect.target} was called with key {effect.key!r}, not {wanted!r}"
            return Finding(said, _why_key(effect.key, saga, step, what, facts))
    return None


def _why_key(found: str | None, saga: str, step: str, what: str, facts: Facts) -> str:
    if found is None:
        return NO_KEY
    given = [(s, n, w) for s, _ in facts["apps"] for n in STEPS for w in ("do", "undo") if found == f"{s}:{n}:{w}"]
    if not given or given[0] == (saga, step, "do"):
        return OWN_KEY
    return OTHER_APP if given[0][0] != saga else OTHER_CALL


def _counts(seen: Seen, app: str) -> list[int]:
    there = seen.end.resources
    return [there[f"{kind} {app}"] for kind in KINDS]


def _there(counts: list[int]) -> str:
    some = [f"{count} {kind}" + "s" * (count > 1) for kind, count in zip(KINDS, counts, strict=True) if count]
    return ", ".join(some) or "nothing"


def deploys(seen: Seen, facts: Facts) -> Finding | None:
    """With nothing in the way, or after any crash: all three, once."""
    if seen.kind == "end" and seen.end.last.how == "raised":
        return Finding(f"nothing was in the way, and deploy_saga {seen.end.last}", "fails on its own")
    for one, (_, app) in zip(told(seen), facts["apps"], strict=False):
        counts = _counts(seen, app)
        if one["how"] == "returned" and counts == [1, 1, 1]:
            continue
        if one["how"] == "returned" and not any(counts):
            return Finding("the saga is completed, and nothing was deployed", "does nothing")
        if max(counts) > 1:
            return Finding(f"at the end there is {_there(counts)}", NO_KEY)
        why = "a step does not do what its name says" if one["how"] == "returned" else "fails on its own"
        return Finding(f"nothing was in the way, the saga {one['said']}, and there is {_there(counts)}", why)
    return None


def in_its_own_cloud(seen: Seen, facts: Facts) -> Finding | None:
    """With several clouds at hand each saga changes the one that it was built for, on the way forward and on the way back."""
    for one, (place, app, refused) in zip(told(seen), CLOUDS, strict=False):
        wanted = {} if refused else {f"{kind} {app}": 1 for kind in KINDS}
        if one["there"] != wanted:
            said = f"{app!r} was deployed in {place}{' with its route refused' * bool(refused)}, the saga {one['said']}"
            there = ", ".join(f"{count} x {thing}" for thing, count in one["there"].items())
            return Finding(f"{said}, and in {place} there is {there or 'nothing'}", OTHER_CLOUD)
    return None


def somewhere(seen: Seen, facts: Facts) -> bool:
    """Whether something was deployed in some cloud."""
    return any(one["there"] for one in told(seen))


def undo_failed(seen: Seen) -> bool:
    """Whether the schedule made an undo fail for good."""
    return (
        ",p1@cloud" in seen.end.token
        and "error(TerminalError)" in seen.end.token.partition(",")[2]
        and not seen.end.unreached
    )


def whole_or_nothing(seen: Seen, facts: Facts) -> Finding | None:
    """Whatever happens: all three once, and it is completed; or none, and it has failed."""
    if undo_failed(seen):
        return None
    for one, (_, app) in zip(told(seen), facts["apps"], strict=False):
        counts = _counts(seen, app)
        wanted = [1, 1, 1] if one["how"] == "returned" else [0, 0, 0]
        if one["how"] in ("returned", "SagaFailed") and counts == wanted:
            continue
        if one["how"] == "CompensationFailed":
            return Finding(f"every undo could be done, and the saga {one['said']}", _why_left(seen, one, counts))
        if max(counts) > 1:
            return Finding(f"at the end there is {_there(counts)}", NO_KEY)
        said = f"and there is {_there(counts)}"
        if one["how"] == "returned":
            return Finding(f"the saga is completed, {said}", NOT_HEARD if any(counts) else "does nothing")
        if one["how"] == "SagaFailed":
            return Finding(f"the saga {one['said']}, {said}", _why_left(seen, one, counts))
        return Finding(f"the saga {one['said']}, and there is {_there(counts)}", "an error does not make the saga fail")
    return None


def _lost(one: dict[str, Any], counts: list[int]) -> bool:
    """Whether the step that failed is there and nobody asked for its undo."""
    failed = [STEPS.index(step) for step in one["failed"] if step in STEPS and step not in one["undos"]]
    return any(counts[place] for place in failed)


def _why_left(seen: Seen, one: dict[str, Any], counts: list[int]) -> str:
    """Why something is left that could be undone."""
    if _lost(one, counts):
        return LOST
    undone = {effect.name for effect in seen.end.effects}
    struck = [call.label.split()[0] for call in seen.end.calls if call.fault and call.boundary == "cloud"]
    if any(name in UNDOS and name not in undone for name in struck):
        return SWALLOWS
    if any(counts[STEPS.index(step)] for step in one["undone"] if step in STEPS) or one["how"] == "SagaFailed":
        return NO_UNDO
    # subtle: the cloud's own refusal is no fault of the schedule
    return WRONG_UNDO if "refused: a " in one["said"] else "an undo that fails though it could be done"


def undone(seen: Seen, facts: Facts) -> bool:
    """Whether a saga was taken back."""
    return any(one["how"] == "SagaFailed" for one in told(seen)) and any(
        effect.name in UNDOS for effect in seen.end.effects
    )


def tells(seen: Seen, facts: Facts) -> Finding | None:
    """An undo that fails for good is heard of: the saga cannot end as if all were undone."""
    if not undo_failed(seen):
        return None
    for one, (_, app) in zip(told(seen), facts["apps"], strict=False):
        counts = _counts(seen, app)
        if one["how"] != "CompensationFailed" and any(counts):
            return Finding(f"an undo failed for good, there is {_there(counts)}, and the saga {one['said']}", SWALLOWS)
    return None


def told_of(seen: Seen, facts: Facts) -> bool:
    return undo_failed(seen) and any(one["how"] == "CompensationFailed" for one in told(seen))
