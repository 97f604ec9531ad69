"""What must be true of resuming: the newest checkpoint by its number, if it is intact, and if its task may go on.

Not handled here: what is saved (see `checkpoint_rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.checks.checkpoint_rules import FAILS, Facts, Find, Told, broke_off, said, told
from labkit.checks.checkpoint_shelf import kept
from labkit.checks.checkpoint_stories import (
    AGE_FIRST,
    ERRORS,
    EXPIRED,
    FALLS_BACK,
    NO_AGE,
    NOT_FOUND,
    RESUMES,
    Resume,
)
from labkit.checks.common import is_a
from labkit.checks.exercise import Finding, Seen

MISSING = "damaged is taken for missing"
UNREADABLE = "reads the data before it asks whether they are intact"
STUMBLES = ("IndexError", "KeyError", "StopIteration", "AttributeError", "TypeError")


def resumes(group: str) -> Find:
    """The rule for one group of stories."""

    def find(seen: Seen, facts: Facts) -> Finding | None:
        stories = _stories(group, facts)
        if broke_off(seen):
            return broke_off(seen)
        for one in told(seen):
            if one["id"] in stories and not _as_wanted(one, stories[one["id"]]):
                story = stories[one["id"]]
                return Finding(f"{_describe(story)}: validate_and_resume {said(one)}", _why_resumed(one, story))
        return None

    return find


def resumed(group: str) -> Callable[[Seen, Facts], bool]:
    """Whether a call of this group came to what was wanted."""

    def exercised(seen: Seen, facts: Facts) -> bool:
        stories = _stories(group, facts)
        return any(one["id"] in stories and _as_wanted(one, stories[one["id"]]) for one in told(seen))

    return exercised


def _stories(group: str, facts: Facts) -> dict[str, Resume]:
    """The stories of a group by the ids of their tasks."""
    return {story.id: story for story in facts["resumes"].get(group, ())}


def _as_wanted(one: Told, story: Resume) -> bool:
    if isinstance(story.wanted, str):
        return story.wanted in one.get("error", {}).get("bases", ())
    found = next(row for row in story.rows if row.seq == story.wanted)
    value: Any = one.get("value")
    wanted = {"task_id": story.id, "seq": found.seq, "data": found.data(story.id), "intact": True}
    return is_a(value, "Checkpoint") and all(value[name] == want for name, want in wanted.items())


def _describe(story: Resume) -> str:
    lying = [
        f"{row.seq} ({f'{row.damage}, ' if row.damage else ''}{row.state}, {row.age:g} s old)" for row in story.rows
    ]
    age = f", max_age {story.max_age.total_seconds():g} s" if lying else ""
    wanted = story.wanted if isinstance(story.wanted, str) else f"checkpoint {story.wanted}"
    return f"there is {', '.join(lying) or 'no checkpoint'}{age}; wanted is {wanted}"


def _why_resumed(one: Told, story: Resume) -> str:
    kind = next((e for e in ERRORS if e in one.get("error", {}).get("bases", ())), "")
    newest = story.rows[-1] if story.rows else None
    if newest is None:
        return _why_missing(one, story)
    if newest.damage:
        return _why_damaged(one, kind, story)
    if "error" in one and not kind:
        return story.why if story in RESUMES["newest"] else FAILS
    if "value" in one:
        return _why_returned(one["value"], story)
    if isinstance(story.wanted, str) and story.why != AGE_FIRST:
        return f"{kind} where {story.wanted} is meant"
    if kind == EXPIRED and story in RESUMES["found"]:
        return f"a fresh checkpoint of a {newest.state} task is taken for too old"
    return story.why


def _why_missing(one: Told, story: Resume) -> str:
    error = one.get("error", {"type": "", "message": ""})
    stumbled = error["type"] in STUMBLES or "empty" in error["message"]
    return story.why if stumbled else "no checkpoint is not told as CheckpointNotFound"


def _why_returned(value: Any, story: Resume) -> str:
    newest = story.rows[-1]
    if not is_a(value, "Checkpoint"):
        return "does not hand back the checkpoint"
    if value["seq"] == newest.seq and isinstance(story.wanted, int):
        return "hands back another checkpoint than the one that was stored"
    if value["seq"] == newest.seq and story.why == FALLS_BACK:
        return NO_AGE if story.wanted == EXPIRED else f"goes on from a {newest.state} task"
    return story.why


def _why_damaged(one: Told, kind: str, story: Resume) -> str:
    if kind == NOT_FOUND or ("value" in one and one["value"] is None):
        return MISSING
    if "error" in one and not kind:
        return UNREADABLE
    value: Any = one.get("value")
    return FALLS_BACK if is_a(value, "Checkpoint") and value["seq"] != story.rows[-1].seq else story.why


def only_reads(seen: Seen, facts: Facts) -> Finding | None:
    now = kept(seen.end)
    if seen.kind != "end" or now == facts["rows"]:
        return None
    changed = [
        task_id for task_id in {**facts["rows"], **now} if now.get(task_id, []) != facts["rows"].get(task_id, [])
    ]
    return Finding(
        f"validate_and_resume changed the checkpoints of task {changed[0]!r}", "resuming deletes or writes checkpoints"
    )
