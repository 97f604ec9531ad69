"""What must be true of what is told meanwhile: thinking, tool calls and results of this task, and exactly one end over the whole run.

Not handled here: the words of an update, and how its steps are counted.
"""

from __future__ import annotations

from typing import Any

from labkit.checks.agent_play import ENDED
from labkit.checks.agent_view import View, said, text_of
from labkit.checks.common import interrupted
from labkit.checks.exercise import Finding, Seen
from labkit.progress.update import TERMINAL

NO_END = "no terminal update: whoever listens waits for ever"
NO_END_ON_ERROR = "no terminal update on the way out with an error"
TWO_ENDS = "more than one terminal update"
TOO_EARLY = "the end is told before the answer is kept"
CRASH_IS_ERROR = "a crash or Ctrl-C is told as the end of the run"


def ours(view: View) -> Finding | None:
    """Every update is a ProgressUpdate of this task."""
    for status, task, _ in view.updates:
        if not status:
            return Finding(
                f"on_progress was given a {task}", "on_progress is given something else than a ProgressUpdate"
            )
        if task != view.talk.task_id:
            return Finding(f"an update of task {view.talk.task_id!r} says {task!r}", "the updates name another task")
    return None


def told(view: View) -> Finding | None:
    """Each thought, each call of a tool and each result is told, in that order."""
    if not view.clean or view.talk.ends != "completes":
        return None
    calls = results = thoughts = ran = 0
    for event in view.told["events"]:
        if event[0] == "run":
            ran += 1
            if not thoughts:
                return Finding(f"{event[1]} ran, and no update had said thinking", "thinking is not told")
            if calls < ran:
                return Finding(
                    f"{event[1]} ran, and no tool_call had been told", "a tool call is not told before it is made"
                )
            if results >= ran:
                return Finding(f"a tool_result was told before {event[1]} ran", "a result is told before there is one")
            continue
        calls, results, thoughts = (
            count + (event[1] == s)
            for count, s in ((calls, "tool_call"), (results, "tool_result"), (thoughts, "thinking"))
        )
    if results < ran:
        return Finding(f"{ran} tools ran, and {results} results were told", "a tool result is not told")
    if not thoughts and view.requests:
        return Finding("the model was asked, and no update said thinking", "thinking is not told")
    return None


def one_end(view: View) -> Finding | None:
    """Over the whole run there is exactly one terminal update, the last one, and it says how the run ended."""
    ends = view.ends
    if len(ends) > 1:
        return Finding(f"the run told its end {len(ends)} times: {', '.join(ends)}", TWO_ENDS)
    if view.told["over"]:
        return _over(view)
    how = said(view.told)
    if not ends:
        return Finding(f"the call {how}, and no update told the end", NO_END_ON_ERROR if view.told["error"] else NO_END)
    if (ends == ["error"]) != bool(view.told["error"]):
        return Finding(
            f"the call {how}, and the update said {ends[0]}", "the terminal update says another end than the call"
        )
    last = view.updates[-1][0] if view.updates else ""
    return (
        None
        if last in TERMINAL
        else Finding(f"{ends[0]} was told, and after it {last}", "updates go on after the terminal one")
    )


def _over(view: View) -> Finding | None:
    """Of a run whose end a process had told before it died, so that nobody goes on with it."""
    ended, says = view.ends[0], f"the process died, and had told {view.ends[0]}"
    if view.talk.ends == "completes" and ended == "error":
        return Finding(says, CRASH_IS_ERROR)
    if ended == "completed" and not any(text_of(message) == view.talk.answer for message in view.told["journal"]):
        return Finding(f"{says}; the answer is not in the journal, and nobody will ask again", TOO_EARLY)
    return None


def no_end_by_interrupt(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Who is interrupted has not come to the end of the run, and does not say so."""
    if not interrupted(seen, facts):
        return None
    wrong = [effect for effect in seen.end.effects if effect.name == ENDED and effect.answer == "error"]
    return (
        Finding("somebody pressed Ctrl-C, and the run was told to have ended with error", CRASH_IS_ERROR)
        if wrong
        else None
    )


def untouched(view: View) -> Finding | None:
    """The tools stay as they were given."""
    return (
        None
        if view.told["kept"]
        else Finding("the mapping of tools is another one after the call", "changes the tools that it was given")
    )
