"""What `idempotency` and `resume` share: a task in a store, work that has an effect in the cloud, and what must be true of both at the end.

Each case tells another story (another id, another input, another result), so that no answer can know it beforehand.

Not handled here: what only one of them asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from labkit.checks.common import SWALLOWS, Killed, bodies, crash_rule, ends, interrupted, raised, same_task
from labkit.checks.exercise import SQL, Case, Finding, Property, Seen
from labkit.faults.process import Process
from labkit.task import Task, TaskState

EFFECT = "deploy_container"
BOOKS_A_CRASH = "a crash or Ctrl-C is stored as a failure of the work"
KEPT = ("user_input", "priority", "created_at", "idempotency_key")
FAILURES = ("ValueError", "TransientError", "TerminalError", "TimeoutError")
RACES = ("two_callers", "two_callers_postgres")
LEAVING = ("work_exits", "work_is_killed")
FINISHED = ("completed", "completed_empty", "cancelled")


@dataclass(frozen=True)
class Story:
    """A task and what becomes of it. `result` None is the cloud's own answer; `fields` are those of the stored task."""

    state: str = "pending"
    id: str = "t1"
    input: str = "shop"
    result: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def wanted(self) -> str:
        return f"container {self.input} ready" if self.result is None else self.result

    def set_up(self, process: Process) -> None:
        process.store.save(Task("bystander", "nobody asks", TaskState.COMPLETED, result="left alone"))
        process.store.save(Task(self.id, self.input, TaskState(self.state), **self.fields))

    def work(self, process: Process) -> Callable[[str, str], str]:
        """The work: deploy what was asked for, under the key that was given."""

        def work(user_input: str, key: str) -> str:
            process.note("work", f"{user_input} key={key}")
            answer = process.cloud.deploy_container(user_input, key=key)
            return answer if self.result is None else self.result

        return work

    def call(self, function: Any, process: Process) -> Any:
        return function(process.store, self.id, self.work(process))

    def call_and_look(self, function: Any, process: Process) -> Any:
        """What the call returned, beside what was stored at that moment (others may go on and change it)."""
        returned = self.call(function, process)
        return {"returned": returned, "stored": stored_now(process, self.id)}

    def cancel(self, function: Any, process: Process) -> Any:
        """Another actor: a person cancels the task, if it is still there to be cancelled."""
        task = process.store.get(self.id)
        assert task is not None
        return process.store.save(replace(task, state=TaskState.CANCELLED))

    def leave_in_work(self, how: type[BaseException], function: Any, process: Process) -> Any:
        """The first process is told to leave in the middle of the work; what it left is noted."""

        def work(user_input: str, key: str) -> str:
            if process.name == "p1":
                process.note("told to leave")
                raise how("told to leave")
            return self.work(process)(user_input, key)

        try:
            return function(process.store, self.id, work)
        finally:
            process.note("left", stored_now(process, self.id)["state"])

    def case(self, name: str, function: str, *calls: Callable[[Any, Process], Any], **options: Any) -> Case:
        """A case of this story, by default with one call of the answer's `function`."""
        facts = {"id": self.id, "input": self.input, "result": self.wanted, "start": self.state, "fields": self.fields}
        return Case(
            name, bodies(function, *(calls or (self.call,))), self.set_up, facts=facts, **{"databases": SQL, **options}
        )


def stored_now(process: Process, task_id: str) -> dict[str, Any]:
    """The row of a task, read past the gate: nothing can happen in between."""
    from labkit.faults.runner import plain_rows

    return next(row for row in plain_rows(process.world.rows())["tasks"] if row["id"] == task_id)


def shared_cases(function: str) -> tuple[Case, ...]:
    """The cases that both exercises have."""
    unknown, leaver = Story(id="t9", input="elsewhere"), Story(id="t11", input="queue")
    return (
        Story(id="t5", input="blog", result="").case("falsy_result", function),
        unknown.case("unknown", function, lambda call, process: call(process.store, "nobody", unknown.work(process))),
        Story("completed", "t6", "done before", fields={"result": "v1 is up"}).case("completed", function),
        Story("completed", "t7", "silent", fields={"result": ""}).case("completed_empty", function),
        Story("cancelled", "t8", "unwanted").case("cancelled", function),
        Story(id="t10", input="mail").case(
            "work_fails", function, schedules=tuple(f"p1@cloud1.before+error({name})" for name in FAILURES)
        ),
        leaver.case("work_exits", function, partial(leaver.leave_in_work, SystemExit)),
        leaver.case("work_is_killed", function, partial(leaver.leave_in_work, Killed)),
    )


def races(story: Story, function: str) -> tuple[Case, ...]:
    """Two callers at once, and a caller and somebody who cancels. PostgreSQL is slower, and one preemption shows nearly all."""
    two = (story.call_and_look, story.call_and_look)
    return (
        story.case("two_callers", function, *two, engine="interleave", databases=("sqlite",)),
        story.case("two_callers_postgres", function, *two, engine="interleave", preemptions=1, databases=("postgres",)),
        story.case(
            "cancelled_meanwhile", function, story.call_and_look, story.cancel, engine="interleave", preemptions=1
        ),
    )


def _once(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    times, keys = seen.end.count(EFFECT), [effect.key for effect in seen.end.effects]
    if times > 1:
        why = "check-then-act without a key: what a crash forgot is done again"
        if None not in keys:
            why = "a fresh key for every try: after a restart the cloud cannot know that it is the same work"
        return Finding(
            f"{EFFECT} happened {times} times: the effect was done, its record was lost, and it was done again", why
        )
    return _never_done(seen, facts) if seen.kind == "end" and times == 0 else None


def _never_done(seen: Seen, facts: dict[str, Any]) -> Finding:
    stored, last = seen.end.tasks.get(facts["id"]), seen.end.last
    if last.how == "raised":
        return Finding(f"the work was never done; the call {last}", _why_raised(last.error["bases"]))
    if stored and stored["state"] == "completed":
        return Finding("the task is completed, and the work was never done", "says done without doing the work")
    alone = f"a task found {facts['start']} is left alone, so nobody ever finishes it"
    return Finding(
        f"the work was never done; the call {last}", alone if facts["start"] != "pending" else "does nothing"
    )


def _ended(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.kind != "end":
        return None
    stored, wanted, last = seen.end.tasks.get(facts["id"]), facts["result"], seen.end.last
    if last.how == "raised":
        return Finding(f"nothing was in the way, and the call {last}", _why_raised(last.error["bases"]))
    if stored is None or stored["state"] != "completed":
        return Finding(
            f"at the end the task is {stored and stored['state']}, not completed", "the end of the work is not stored"
        )
    if stored["result"] != wanted:
        falsy = "a falsy result is taken for no result" if not wanted else "the result is lost, or made up"
        return Finding(f"the stored result is {stored['result']!r}, work returned {wanted!r}", falsy)
    differs = same_task(last.value, stored) if last.how == "returned" else str(last)
    return Finding(differs, "does not hand back what is stored") if differs else None


def _why_raised(bases: list[str]) -> str:
    if "StaleTask" in bases:
        return "does not go on with the version that save returned"
    return "goes a way that the transition table forbids" if "InvalidTransition" in bases else "fails on its own"


def _kept(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stored = seen.end.tasks.get(facts["id"])
    wanted = {"user_input": facts["input"], "priority": 0, "idempotency_key": None, **facts["fields"]}
    lost = [name for name in KEPT if stored and name in wanted and stored[name] != wanted[name]]
    if stored is None or set(seen.end.tasks) != {facts["id"], "bystander"}:
        return Finding(
            f"the tasks stored at the end are {', '.join(sorted(seen.end.tasks))}",
            "stores another task than it was asked for",
        )
    if lost:
        return Finding(
            f"the task's {lost[0]} was {wanted[lost[0]]!r} and is {stored[lost[0]]!r}",
            "a new task for a changed one: its other fields are lost",
        )
    return None


def crashed(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.kind == "left" and seen.end.last.how == "crashed"


def _running_first(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """A crash right after the effect shows what was stored while the work was done."""
    stored = seen.end.tasks.get(facts["id"])
    ours = seen.end.effects and seen.end.effects[-1].by == seen.end.last.process
    if crashed(seen, facts) and ours and stored and stored["state"] not in ("running", "completed"):
        return Finding(
            f"while the work was done the task was stored as {stored['state']}", "running is not saved before the work"
        )
    return None


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
    return Finding(f"work was called with {odd[0]}, not with {wanted}", why)


def _unknown(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if len(seen.end.tasks) != 2 or seen.end.effects:
        return Finding("asked for a task that nobody stored, the call made one up", "an unknown id creates a task")
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
            if seen.case == "completed_empty"
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
    if not stored["error"] or (
        stored["error"] not in last.error["message"] and last.error["message"] not in stored["error"]
    ):
        return Finding(
            f"the work failed with {last.error['message']!r}, stored is {stored['error']!r}",
            "the text of the error is lost",
        )
    return None


def _no_failure(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """After Ctrl-C the task may stand anywhere on its way, but not at a failure that was no failure."""
    stored = seen.end.tasks.get(facts["id"])
    if not interrupted(seen, facts) or not stored or stored["state"] != "failed" or stored["version"] == 1:
        return None
    return Finding("somebody pressed Ctrl-C, and the task was stored as failed", BOOKS_A_CRASH)


def _told(seen: Seen, facts: dict[str, Any]) -> bool:
    return any(note.label == "told to leave" for note in seen.end.notes)


def _leaves(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """What is no Exception comes through, and leaves the task as it is for the next process."""
    wanted, first = "SystemExit" if seen.case == "work_exits" else Killed.__name__, seen.end.outcomes[0]
    left = next((note.fault for note in seen.end.notes if note.label == "left"), "")
    if not _told(seen, facts):
        return None
    if not raised(first, wanted):
        return Finding(f"the work raised {wanted}, which is no Exception, and the process {first}", SWALLOWS)
    if left not in ("running", facts["start"]):
        return Finding(
            f"the process had to leave in the middle of the work, and the task was left {left}", BOOKS_A_CRASH
        )
    return None


def _one_end(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Two callers: the effect once, one of them ends the task, the other hears that it was too late."""
    stored = seen.end.tasks.get(facts["id"])
    if seen.end.count(EFFECT) != 1:
        why = "two callers do the work under different keys" if seen.end.effects else "the work is never done"
        return Finding(f"two callers at once: {EFFECT} happened {seen.end.count(EFFECT)} times", why)
    if stored is None or stored["state"] != "completed":
        return Finding(
            f"two callers at once left the task {stored and stored['state']}",
            "the loser of a race spoils the winner's end",
        )
    for outcome in seen.end.outcomes:
        differs = _why_not_told(outcome)
        if differs:
            return Finding(
                f"two callers at once: {outcome.process} {differs}", "the loser of a race goes on as if it had won"
            )
    if all(outcome.how == "raised" for outcome in seen.end.outcomes):
        return Finding(
            "two callers at once: nobody was told that the task is done", "the winner of a race is told it lost"
        )
    return None


def _why_not_told(outcome: Any) -> str | None:
    """Why this is neither `StaleTask` nor the task as it was stored when the call returned."""
    if outcome.how == "returned":
        return same_task(outcome.value["returned"], outcome.value["stored"])
    return None if raised(outcome, "StaleTask") else str(outcome)


def _cancel_stands(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Somebody cancels in the middle: whichever end came first stays."""
    stored = seen.end.tasks[facts["id"]]
    ours, theirs = seen.end.outcomes
    cancelled = theirs.how == "returned"
    if cancelled != (stored["state"] == "cancelled"):
        return Finding(
            f"the task was cancelled and is now {stored['state']}", "writes over a task that somebody else ended"
        )
    why = _why_not_told(ours)
    return (
        Finding(
            f"the task was cancelled while it ran: the caller {why}", "the loser of a race goes on as if it had won"
        )
        if why
        else None
    )


def work_properties(swept: tuple[str, ...], ended: tuple[str, ...]) -> tuple[Property, ...]:
    """What is asked of both exercises. `swept` are the cases with crashes, `ended` those that end completed."""
    return (
        ends(),
        Property("effect once", "after any crash the effect is there once", _once, ended),
        Property(
            "work is asked rightly",
            "work gets the task's input, and the task id as key",
            _input,
            ended,
            lambda seen, facts: bool(seen.end.notes),
        ),
        Property("running is saved", "running is saved before the work", _running_first, swept, crashed),
        Property(
            "a crash is no failure",
            "neither a crash nor Ctrl-C is stored as a failure",
            _no_failure,
            swept,
            interrupted,
        ),
        crash_rule(*swept),
        Property(
            "what is no Exception comes through",
            "work that is told to leave leaves, and the task stays as it is",
            _leaves,
            LEAVING,
            _told,
        ),
        Property(
            "ends completed", "the task ends completed, with the result of the work, and is returned", _ended, ended
        ),
        Property("fields stay", "all else that the task holds stays as it was", _kept, (*ended, "work_fails")),
        Property(
            "failure",
            "a failing work leaves the task failed with the error's text, and its error comes through",
            _failed,
            ("work_fails",),
        ),
        Property("finished stays", "a completed or cancelled task is handed back untouched", _untouched, FINISHED),
        Property("unknown id", "an unknown id is TaskNotFound", _unknown, ("unknown",)),
        Property(
            "two callers, one end", "two callers at once: one effect, one end, the other is told", _one_end, RACES
        ),
        Property(
            "a cancel stands",
            "a task that was cancelled meanwhile stays cancelled",
            _cancel_stands,
            ("cancelled_meanwhile",),
        ),
    )
