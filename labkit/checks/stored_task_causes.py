"""Why a stored task did not end as it should, as far as one run shows it: for the same end there are several causes, and the wrong one helps nobody.

Not handled here: what must hold (see `stored_task_rules`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.exercise import Seen

UNSAVED = "running is not saved before the work"
FIELDS_OF_A_NEW_TASK: dict[str, Any] = {"priority": 0, "idempotency_key": None}


def _worked(seen: Seen) -> bool:
    """Whether the last process called the work."""
    return any(note.label == "work" and note.process == seen.end.last.process for note in seen.end.notes)


def no_work(seen: Seen, facts: dict[str, Any]) -> str:
    """Why the last process did not call the work, by the state in which it found the task and the one in which it left it."""
    if seen.end.last.how in ("endless", "hung"):
        return "never ends"
    left = seen.end.tasks.get(facts["id"], {}).get("state", "")
    found = left if "+crash" in seen.end.token else facts["start"]  # subtle: what a dead process had stored is what stands there still
    if left == "completed":
        return "says done without doing the work"
    if left != found:
        return f"a task found {found} is only made {left}, and nobody ever does the work"
    if left != "pending":
        return f"a task found {found} is left alone, so nobody ever finishes it"
    return "a task is left alone for its time or its priority, though it was asked for" if facts["fields"] else "does nothing"


def not_completed(seen: Seen, facts: dict[str, Any], stored: dict[str, Any]) -> str:
    """Nobody worked, or the work returned: then its end is missing, or is another one than it should be."""
    if not _worked(seen):
        return no_work(seen, facts)
    written = stored["version"] > 1 or stored["state"] != facts["start"]
    if written and stored["state"] in ("failed", "cancelled"):
        return f"the work returned, and its task is stored as {stored['state']}"
    return "the end of the work is not stored"


def other_result(seen: Seen, facts: dict[str, Any], stored: dict[str, Any]) -> str:
    if not _worked(seen):
        return no_work(seen, facts)
    if not facts["result"]:
        return "a falsy result is taken for no result"
    if stored["result"] == facts["fields"].get("result"):
        return "the result of an earlier try is taken for the result of the work"
    cut = stored["result"] and stored["result"] in facts["result"]
    return "the result is stored in part only" if cut else "the result is lost, or made up"


def raised_by_itself(seen: Seen, facts: dict[str, Any]) -> str:
    """Why the last process raised an error, where nothing was in its way."""
    bases, left = seen.end.last.error["bases"], seen.end.tasks.get(facts["id"], {}).get("state", "")
    if "StaleTask" in bases:
        return "does not go on with the version that save returned"
    if "InvalidTransition" in bases and _worked(seen) and left == facts["start"] != "running":
        return UNSAVED
    if "InvalidTransition" in bases:
        return "goes a way that the transition table forbids"
    return "fails on its own" if facts["input"] else f"refuses an input that is falsy, or a task found {facts['start']}"


def lost_fields(lost: list[str], wanted: dict[str, Any]) -> str:
    """A new task has nothing of the old one; where something of it is kept, the field alone was written."""
    kept = [name for name, fresh in FIELDS_OF_A_NEW_TASK.items() if wanted[name] != fresh and name not in lost]
    return f"writes {' and '.join(lost)} without being asked to" if kept else "a new task for a changed one: its other fields are lost"
