"""What must be true of saving: when a checkpoint is made, what is in it, and what the call says of it.

Not handled here: which one is gone on from (see `checkpoint_resume_rules`), which may go, and crashes (see `checkpoint_cleanup_rules`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from labkit.checkpoint import task_from_data
from labkit.checks.checkpoint_cases import SAVES
from labkit.checks.checkpoint_shelf import kept
from labkit.checks.checkpoint_stories import LASTING
from labkit.checks.common import is_a
from labkit.checks.exercise import Finding, Seen
from labkit.errors import CheckpointNotResumable
from labkit.faults.outcome import plain

Facts = dict[str, Any]
Told = dict[str, Any]
Find = Callable[[Seen, Facts], Finding | None]

FAILS = "fails on its own"
NO_BOOL = "maybe_save does not say, as True or False, whether it saved"
NO_TASK = "the data are not the task as a dict"


def told(seen: Seen) -> list[Told]:
    """What each call of a case came to."""
    value = seen.end.last.value
    return value if isinstance(value, list) else []


def said(one: Told) -> str:
    if "error" in one:
        return f"raised {one['error']['type']}: {one['error']['message']}"
    value = one["value"]
    if is_a(value, "Checkpoint"):
        return f"returned checkpoint {value['seq']}"
    return f"returned {value!r}"


def broke_off(seen: Seen) -> Finding | None:
    """The run of a case ended with an error before its calls were made."""
    if seen.kind == "end" and seen.end.last.how == "raised":
        return Finding(f"{seen.like.replace('_', ' ')}: the process {seen.end.last}", FAILS)
    return None


def _wrote(seen: Seen, task_id: str, facts: Facts) -> list[dict[str, Any]]:
    """The checkpoints of a task that were not there before."""
    before = facts["rows"].get(task_id, [])
    return [row for row in kept(seen.end).get(task_id, []) if row not in before]


def saves(ended: bool) -> Find:
    """The rule for tasks that go on, or for those that have ended."""

    def find(seen: Seen, facts: Facts) -> Finding | None:
        if broke_off(seen) or seen.kind != "end":
            return broke_off(seen)
        calls = list(zip(told(seen), SAVES, strict=False))
        for one, (name, strategy, trigger, state, wanted) in sorted(calls, key=lambda call: not call[1][-1]):
            if (state in LASTING) == ended:
                there = f"strategy {strategy}, trigger {trigger}, a {state} task: maybe_save {said(one)}"
                wrong = _not_saved(one, len(_wrote(seen, name, facts)), there, state, wanted)
                if wrong:
                    return wrong
        return None

    return find


def _not_saved(one: Told, times: int, there: str, state: str, wanted: bool) -> Finding | None:
    if "error" in one:
        return Finding(there, FAILS)
    if wanted and not times:
        why = "the trigger is the strategy, and nothing is saved"
        if state in LASTING:
            why = f"a {state} task is not saved under every strategy"
        return Finding(f"{there}, and nothing was saved", why)
    if times > wanted:
        why = f"a {state} task is taken for ended" if state != "running" else "saves whatever the trigger"
        return Finding(f"{there}, and {times} were saved", "saves one task twice" if wanted else why)
    return None


def says(seen: Seen, facts: Facts) -> Finding | None:
    for one, (name, strategy, trigger, state, _) in zip(told(seen), SAVES, strict=False):
        saved = bool(_wrote(seen, name, facts))
        if "error" not in one and one["value"] is not saved:
            there = f"strategy {strategy}, trigger {trigger}, a {state} task that was {'' if saved else 'not '}saved"
            return Finding(f"{there}: maybe_save {said(one)}", NO_BOOL)
    return None


def whole(seen: Seen, facts: Facts) -> Finding | None:
    if broke_off(seen):
        return broke_off(seen)
    strangers = kept(seen.end).keys() - facts["rows"].keys()
    if strangers:
        return Finding(
            f"a checkpoint was saved under the id {min(strangers)!r}", "saves under another id than the task's"
        )
    for one, task in zip(told(seen), facts["tasks"], strict=False):
        rows = _wrote(seen, task.id, facts)
        if "error" in one:
            return Finding(f"saving task {task.id!r}: maybe_save {said(one)}", FAILS)
        if not rows:
            continue  # see `saves`
        wanted, found = plain(task), _read(rows[0]["data"])
        if found is None:
            return Finding(f"saved as task {task.id!r} was {rows[0]['data'][:200]}", NO_TASK)
        lost = [name for name in wanted if found[name] != wanted[name]]
        if lost:
            was = f"the task's {lost[0]} is {wanted[lost[0]]!r}, and in the checkpoint {found[lost[0]]!r}"
            return Finding(was, f"a field of the task is lost or changed: {lost[0]}")
    return None


def _read(data: str) -> dict[str, Any] | None:
    try:
        read: dict[str, Any] = plain(task_from_data(json.loads(data)))
    except (CheckpointNotResumable, ValueError):
        return None
    return read


def adds(seen: Seen, facts: Facts) -> Finding | None:
    """A save changes neither what lies there nor the task."""
    for task_id, before in facts["rows"].items():
        now = kept(seen.end).get(task_id, [])
        gone = [row["seq"] for row in before if row not in now]
        if gone:
            return Finding(
                f"limits far away, and after maybe_save checkpoint {gone[0]} is not as it was",
                "a save writes over older ones",
            )
    changed = [one["id"] for one in told(seen) if one["changed"]]
    return Finding(f"the task {changed[0]!r} was changed", "changes the task that it was given") if changed else None


def saved_any(seen: Seen, facts: Facts) -> bool:
    return any(_wrote(seen, one["id"], facts) for one in told(seen))
