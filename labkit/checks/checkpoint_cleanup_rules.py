"""What must be true of cleaning up, of calls in turn, and of a process that dies: the newest is always there.

Where the clock was stepped back, two ways to choose are right: the count may be taken before or after what is too old has
gone, and by number or by time. What must go and what must stay is the same in all of them.

Not handled here: what is saved, and what is resumed from (see `checkpoint_rules`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from labkit.checks.checkpoint_cases import MOST_REFUSALS
from labkit.checks.checkpoint_rules import FAILS, Facts, broke_off, said, told
from labkit.checks.checkpoint_shelf import Row, kept
from labkit.checks.checkpoint_stories import BYSTANDERS, ERRORS, Cleanup
from labkit.checks.common import after_crash, crashed
from labkit.checks.exercise import Finding, Seen

ANEW = "writes checkpoints anew instead of leaving them"
ONE_TOO_MANY = "the newest is not counted among max_count"
NO_COUNT = "does not return how many went"
REMEMBERS = "remembers what it saved instead of asking the store"
ENDED_BEFORE = "a task that failed, was resumed and ends again is not saved again"
OTHER_TASKS = "cleans up a task that it was not asked for"
NEWEST_DIES = "deletes before the newest is safe: a crash leaves no newest checkpoint"
NOT_RESUMED = "a crash leaves what the next process stumbles over"


def _too_old(row: Row, story: Cleanup) -> bool:
    return row.age > story.max_age.total_seconds()


def _least(story: Cleanup) -> int:
    """How many stay at the least: nobody deletes more than the surplus and the too old ones."""
    newest, limit = story.rows[-1:], max(story.max_count, 1)
    return len([row for row in story.rows[-limit:] if row in newest or not _too_old(row, story)])


def cleans(seen: Seen, facts: Facts) -> Finding | None:
    if broke_off(seen) or seen.kind != "end":
        return broke_off(seen)
    for one, story in zip(told(seen), facts["cleanups"], strict=False):
        now = kept(seen.end).get(story.id, [])
        wrong = FAILS if "error" in one else _why_left(story, now, facts["rows"].get(story.id, []))
        if wrong:
            left = ", ".join(str(row["seq"]) for row in now) or "none"
            return Finding(f"{_describe(story)}: cleanup {said(one)}, left is {left}", wrong)
    return None


def _describe(story: Cleanup) -> str:
    lying = [f"{row.seq} ({f'{row.damage}, ' if row.damage else ''}{row.age:g} s)" for row in story.rows]
    limits = f"max_count {story.max_count}, max_age {story.max_age.total_seconds():g} s"
    return f"{limits}, there is {', '.join(lying) or 'no checkpoint'}"


def _why_left(story: Cleanup, now: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """What is wrong with what is left of a story; "" for nothing."""
    left = [row["seq"] for row in now]
    stays = [row for row in story.rows if row.seq in left]
    limit = max(story.max_count, 1)
    if any(row not in before for row in now):
        return ANEW
    if story.rows and story.rows[-1].seq not in left:
        return story.newest_gone
    if len(left) > limit:
        return ONE_TOO_MANY if 0 < story.max_count == len(left) - 1 < len(story.rows) - 1 else story.crowded
    if any(_too_old(row, story) for row in stays[:-1]):
        return story.stayed
    steady = [row.age for row in story.rows] == sorted((row.age for row in story.rows), reverse=True)
    least = _least(story)
    return story.gone if len(left) < least or (steady and stays != list(story.rows[-least:])) else ""


def counts(seen: Seen, facts: Facts) -> Finding | None:
    for one, story in zip(told(seen), facts["cleanups"], strict=False):
        went = len(story.rows) - len(kept(seen.end).get(story.id, []))
        if "error" not in one and (type(one["value"]) is not int or one["value"] != went):
            return Finding(f"{_describe(story)}: {went} went, and cleanup {said(one)}", NO_COUNT)
    return None


def others_stay(seen: Seen, facts: Facts) -> Finding | None:
    now = kept(seen.end)
    touched = [task_id for task_id in BYSTANDERS if now.get(task_id) != facts["rows"].get(task_id)]
    return Finding(f"the checkpoints of the task {touched[0]!r} were changed", OTHER_TASKS) if touched else None


def deleted_any(seen: Seen, facts: Facts) -> bool:
    """Whether something went that was to go."""
    now = kept(seen.end)
    return seen.kind == "end" and any(len(now.get(t, [])) < len(rows) for t, rows in facts["rows"].items())


def in_turn(seen: Seen, facts: Facts) -> Finding | None:
    if broke_off(seen):
        return broke_off(seen)
    for place, one in enumerate(told(seen), 1):
        why = FAILS if "error" in one else _IN_TURN[one["call"]](one)
        if why:
            lying = f"there were {one['before']}, now {one['after']}"
            return Finding(f"call {place}, {one['call']}: it {said(one)}; {lying}", why)
    return None


def _saved(one: dict[str, Any]) -> str:
    new = [seq for seq in one["after"] if seq not in one["before"]]
    if not new:
        return "a save is left out that looks like the one before"
    return "" if new == one["after"][-1:] else REMEMBERS


def _ended(one: dict[str, Any]) -> str:
    return ENDED_BEFORE if one["after"] == one["before"] else _saved(one)


def _cleaned(one: dict[str, Any]) -> str:
    before, after = one["before"], one["after"]
    if after != before[-2:]:
        return "cleanup deletes the newest" if before[-1:] != after[-1:] else REMEMBERS
    return NO_COUNT if one["value"] != len(before) - len(after) else ""


def _resumed(one: dict[str, Any]) -> str:
    if one["after"] != one["before"]:
        return "resuming deletes or writes checkpoints"
    value = one["value"]
    return "" if isinstance(value, dict) and value.get("seq") == one["after"][-1] else REMEMBERS


_IN_TURN: dict[str, Callable[[dict[str, Any]], str]] = {"save": _saved, "end": _ended, "cleanup": _cleaned, "resume": _resumed}


def cleaned_in_turn(seen: Seen, facts: Facts) -> bool:
    return any(one["call"] == "cleanup" and one["after"] != one["before"] for one in told(seen))


def newest_survives(seen: Seen, facts: Facts) -> Finding | None:
    """A crash or Ctrl-C in a cleanup leaves the newest, and all that was to stay."""
    before, now = facts["rows"]["t1"], kept(seen.end).get("t1", [])
    if before[-1] not in now:
        return Finding(f"a cleanup was interrupted, and left is {[row['seq'] for row in now]}", NEWEST_DIES)
    lost = [row["seq"] for row in before[-2:] if row not in now]
    return Finding(f"a cleanup was interrupted, and {lost[0]} is gone that was to stay", NEWEST_DIES) if lost else None


def died_deleting(seen: Seen, facts: Facts) -> bool:
    """Whether a crash came when some had gone."""
    return crashed(seen, facts) and len(kept(seen.end).get("t1", [])) < len(facts["rows"]["t1"])


def saved_survives(seen: Seen, facts: Facts) -> Finding | None:
    """What `maybe_save` has said to be saved can be loaded, whenever the process dies."""
    saved = [note.fault for note in seen.end.notes if note.label == "saved"]
    now = kept(seen.end).get("t1", [])
    if saved and not (now and (_completed(now[-1]) or saved[-1] == "running")):
        lying = f"left is {[row['seq'] for row in now]}"
        return Finding(f"a {saved[-1]} task was saved, the process died later, and {lying}", NEWEST_DIES)
    return None


def _completed(row: dict[str, Any]) -> bool:
    state: bool = json.loads(row["data"]).get("state") == "completed"
    return state


def goes_on(seen: Seen, facts: Facts) -> Finding | None:
    """Whoever comes after a crash brings it to the same end."""
    if broke_off(seen) or seen.kind != "end":
        return broke_off(seen) and Finding(f"{broke_off(seen)}", NOT_RESUMED)
    now = kept(seen.end).get("t1", [])
    if seen.like == "run_dies":
        fine = len(now) == 1 and _completed(now[0])
        return (
            None
            if fine
            else Finding(
                f"the run ended with {len(now)} checkpoints of max_count=1", "the run does not come to its end"
            )
        )
    value, wanted = seen.end.last.value or {}, facts["rows"]["t1"][-2:]
    if now != wanted:
        return Finding(f"after a cleanup with max_count=2 left is {[row['seq'] for row in now]}", REMEMBERS)
    went = len(value["before"]) - len(value["after"])
    return (
        None
        if value["count"] == went
        else Finding(f"{went} went in this call, and cleanup returned {value['count']!r}", NO_COUNT)
    )


def went_on(seen: Seen, facts: Facts) -> bool:
    return after_crash(seen, facts) and seen.end.last.how == "returned"


def busy(seen: Seen, facts: Facts) -> Finding | None:
    """A store that raises is no answer: nothing was saved, nothing is known of what lies there, nothing went."""
    for one in told(seen):
        if 0 < one["asked"] <= MOST_REFUSALS and _wrong_when_busy(one):
            return Finding(f"store.{one['call']} raised StoreBusy, and the call {said(one)}", WHEN_BUSY[one["call"]])
    return None


WHEN_BUSY = {
    "append": "says saved when the store has refused it",
    "load": "a store that cannot be read is taken for one without checkpoints",
    "delete": "counts what the store has refused to delete",
}


def _wrong_when_busy(one: dict[str, Any]) -> bool:
    if one["call"] == "append":
        return one.get("value") is True
    if one["call"] == "load":
        return "value" in one or any(base in ERRORS for base in one["error"]["bases"])
    return bool(one.get("value"))


def asked_when_busy(seen: Seen, facts: Facts) -> bool:
    return any(one["asked"] for one in told(seen))
