"""What must be true of a stored task and its work at the end, for `idempotency` and `resume`: one process at a time.

Not handled here: processes that are stopped in the middle, and several at once (see `stored_task_races`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks import stored_task_causes as causes
from labkit.checks import stored_task_failures as failures
from labkit.checks.common import crash_rule, crashed, ends, interrupted, raised, same_task
from labkit.checks.exercise import Finding, Property, Seen
from labkit.checks.stored_task_races import EFFECT, LEAVING, cancel_stands, leaves, no_failure, one_end, told

KEPT = ("user_input", "priority", "idempotency_key", "created_at", "available_at")
FINISHED = ("completed", "completed_empty", "cancelled")


def _once(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    times, keys = seen.end.count(EFFECT), [effect.key for effect in seen.end.effects]
    if times > 1 and "+crash" not in seen.end.token:
        return Finding(f"nothing was in the way, and {EFFECT} happened {times} times in one call", "does the work more than once in one call")
    if times > 1:
        why = "check-then-act without a key: what a crash forgot is done again"
        if None not in keys:
            why = "a fresh key for every try: after a restart the cloud cannot know that it is the same work"
        return Finding(
            f"{EFFECT} happened {times} times: the effect was done, its record was lost, and it was done again", why
        )
    return _never_done(seen, facts) if seen.kind == "end" and times == 0 else None


def _never_done(seen: Seen, facts: dict[str, Any]) -> Finding:
    last = seen.end.last
    why = causes.raised_by_itself(seen, facts) if last.how == "raised" else causes.no_work(seen, facts)
    return Finding(f"the work was never done; the call {last}", why)


def _ended(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.kind != "end":
        return None
    stored, wanted, last = seen.end.tasks.get(facts["id"]), facts["result"], seen.end.last
    if last.how == "raised":
        return Finding(f"nothing was in the way, and the call {last}", causes.raised_by_itself(seen, facts))
    if stored is None:
        return Finding("at the end the task is not stored at all", "deletes the task")
    if stored["state"] != "completed":
        return Finding(f"at the end the task is {stored['state']}, not completed", causes.not_completed(seen, facts, stored))
    if stored["result"] != wanted:
        return Finding(f"the stored result is {_brief(stored['result'])}, work returned {_brief(wanted)}", causes.other_result(seen, facts, stored))
    differs = same_task(last.value, stored) if last.how == "returned" else str(last)
    return Finding(differs, "does not hand back what is stored") if differs else None


def _brief(text: Any) -> str:
    """A text for a message: of a long one its length and both ends, where it may have been cut."""
    whole = repr(text)
    return whole if len(whole) <= 60 else f"{whole[:25]}...{whole[-25:]} ({len(text)} characters)"


def _written(seen: Seen, facts: dict[str, Any]) -> bool:
    stored = seen.end.tasks.get(facts["id"])
    return seen.kind == "end" and stored is not None and bool(stored["version"] > 1)


def _kept(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stored = seen.end.tasks.get(facts["id"])
    wanted = {"user_input": facts["input"], "priority": 0, "idempotency_key": None, **facts["fields"]}
    lost = [name for name in KEPT if stored and name in wanted and stored[name] != wanted[name]]
    if stored is None or set(seen.end.tasks) != {facts["id"], *facts["bystanders"]}:
        return Finding(
            f"the tasks stored at the end are {', '.join(sorted(seen.end.tasks))}",
            "stores another task than it was asked for",
        )
    for name, state in facts["bystanders"].items():
        other = seen.end.tasks[name]
        if (other["state"], other["version"]) != (state, 1):
            return Finding(
                f"another task that was {state} was written, and is {other['state']}",
                "writes to a task that it was not asked for",
            )
    if lost:
        return Finding(f"the task's {lost[0]} was {wanted[lost[0]]!r} and is {stored[lost[0]]!r}", causes.lost_fields(lost, wanted))
    if stored["attempt"] < wanted.get("attempt", 0):
        return Finding(
            f"the task was at attempt {wanted['attempt']} and is at {stored['attempt']}", "the attempts start anew"
        )
    if stored["state"] == "completed" and stored["error"] not in (None, facts["fields"].get("error")):
        return Finding(f"the completed task says {stored['error']!r}", "an error that nobody raised")
    return None


def _running_first(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """A crash right after the effect shows what was stored while the work was done."""
    stored = seen.end.tasks.get(facts["id"])
    ours = seen.end.effects and seen.end.effects[-1].by == seen.end.last.process
    if crashed(seen, facts) and ours and stored and stored["state"] not in ("running", "completed"):
        return Finding(
            f"while the work was done the task was stored as {stored['state']}", causes.UNSAVED
        )
    return None


def _asked(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether the work was called at all."""
    return any(note.label == "work" for note in seen.end.notes)


def _input(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    asked, wanted = facts["input"], f"{facts['input']} key={facts['id']}"
    odd = [note.fault for note in seen.end.notes if note.label == "work" and note.fault != wanted]
    if not odd:
        return None
    why = "the key is not the task id"
    if not odd[0].startswith(f"{asked} key="):
        why = "work is not called with what the task asks for"
    elif odd[0].endswith("key=None"):
        why = "check-then-act without a key: what a crash forgot is done again"
    elif odd[0].endswith(f"key={asked}"):
        why = "the key is the input: two tasks with one input would share one effect"
    return Finding(f"work was called with {odd[0]!r}, not with {wanted!r}", why)


def _unknown(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if len(seen.end.tasks) != 1 + len(facts["bystanders"]):
        return Finding("asked for a task that nobody stored, the call made one up", "an unknown id creates a task")
    if seen.end.effects:
        return Finding("asked for a task that nobody stored, the call did the work", "works before it looks whether the task is there")
    if raised(seen.end.last, "TaskNotFound"):
        return None
    return Finding(
        f"asked for a task that nobody stored, the call {seen.end.last}", "an unknown id is not TaskNotFound"
    )


def _untouched(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stored, start = seen.end.tasks[facts["id"]], facts["start"]
    if seen.end.effects or any(note.label == "work" for note in seen.end.notes):
        why = (
            "a falsy result is taken for no result"
            if seen.like == "completed_empty"
            else f"a {start} task is worked on again"
        )
        return Finding(f"the task was {start} already, and the work was done all the same", why)
    if stored["state"] != start or stored["version"] != 1:
        return Finding(f"a task that was {start} was written again", "writes a finished task")
    last = seen.end.last
    why_not = same_task(last.value, stored) if last.how == "returned" else f"the call {last}"
    return Finding(f"the task was {start}: {why_not}", "a finished task is not handed back") if why_not else None


def _failed(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stored, last = seen.end.tasks[facts["id"]], seen.end.last
    wanted = seen.end.token.partition("error(")[2].partition(")")[0]
    if sum(note.label == "work" for note in seen.end.notes) > 1:
        return Finding(
            f"the work raised {wanted}, and was called again at once", "a failing work is tried again in the same call"
        )
    if stored["state"] == "completed":
        return Finding(f"the work raised {wanted}, and the task is completed", "a failure is stored as a success")
    if stored["state"] != "failed":
        return Finding(f"the work raised {wanted}, and the task is {stored['state']}", "a failure is not stored")
    if last.how == "returned":
        return Finding(f"the work raised {wanted}, and the call {last}", "the error of the work is swallowed")
    if not raised(last, wanted) or "injected" not in last.error["message"]:
        return Finding(
            f"the work raised {wanted}, and the call {last}",
            "another error comes out than the one that the work raised",
        )
    if last.error["message"] not in (stored["error"] or ""):
        return Finding(
            f"the work failed with {last.error['message']!r}, stored is {stored['error']!r}",
            failures.LOST,
        )
    return None


def work_properties(swept: tuple[str, ...], ended: tuple[str, ...]) -> tuple[Property, ...]:
    """What is asked of both exercises. `swept` are the cases with crashes, `ended` those that end completed."""
    return (*_when_work_succeeds(swept, ended), *_when_work_fails(), *_beside_others())


def _when_work_succeeds(swept: tuple[str, ...], ended: tuple[str, ...]) -> tuple[Property, ...]:
    """What an undisturbed run shows is told before what only a crash shows."""
    return (
        ends(),
        Property(
            "ends completed", "the task ends completed, with the result of the work, and is returned", _ended, ended
        ),
        Property("effect once", "after any crash the effect is there once", _once, ended),
        Property(
            "work is asked rightly",
            "work gets the task's input, and the task id as key",
            _input,
            ended,
            _asked,
        ),
        Property("running is saved", "running is saved before the work", _running_first, swept, crashed),
        Property(
            "a crash is no failure",
            "neither a crash nor Ctrl-C is stored as a failure",
            no_failure,
            swept,
            interrupted,
        ),
        crash_rule(*swept),
        Property(
            "what is no Exception comes through",
            "work that is told to leave leaves, and the task stays as it is",
            leaves,
            LEAVING,
            told,
        ),
        Property("fields stay", "all else that the task holds stays as it was", _kept, (*ended, "work_fails"), _written),
    )


def _when_work_fails() -> tuple[Property, ...]:
    return (
        Property(
            "failure",
            "a failing work leaves the task failed with the error's text, and its error comes through",
            _failed,
            ("work_fails",),
        ),
        Property(
            "any failure",
            "whatever Exception the work raises is stored as its failure, and comes through as it is",
            failures.any_failure,
            tuple(failures.ERRORS),
            failures.asked_to_fail,
        ),
        Property(
            "any exit",
            "whatever the work raises that is no Exception comes through, and is no failure",
            failures.any_exit,
            tuple(failures.EXITS),
            failures.asked_to_fail,
        ),
        Property(
            "a beaten failure",
            "a work that fails when somebody else has written the task writes nothing over it, and its caller is told",
            failures.beaten_failure,
            tuple(failures.BEATEN),
            failures.asked_to_fail,
        ),
    )


def _beside_others() -> tuple[Property, ...]:
    """Tasks that are finished, unknown, or in somebody else's hands too."""
    return (
        Property("finished stays", "a completed or cancelled task is handed back untouched", _untouched, FINISHED),
        Property("unknown id", "an unknown id is TaskNotFound", _unknown, ("unknown",)),
        Property(
            "two callers, one end",
            "two callers at once: one effect, one end, the other is told",
            one_end,
            ("two_callers",),
        ),
        Property(
            "a cancel stands",
            "a task that was cancelled meanwhile stays cancelled",
            cancel_stands,
            ("cancelled_meanwhile",),
        ),
    )
