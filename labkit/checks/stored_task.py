"""What `idempotency` and `resume` share: a task in a store, and work that has an effect in the cloud.

Each case tells another story (another id, another input, another result), so that no answer can know it beforehand.

Not handled here: what must hold (see `stored_task_rules`), and what only one of the two asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from labkit.checks.common import TOLD, Killed, bodies, called
from labkit.checks.exercise import SQL, Case
from labkit.checks.rows import stored
from labkit.checks.stored_task_failures import failures
from labkit.clock import STORY_BEGINS
from labkit.faults.outcome import plain
from labkit.faults.process import Process
from labkit.task import Task, TaskState

FAILURES = ("ValueError", "TransientError", "TerminalError", "TimeoutError")
BYSTANDERS = {
    "bystander": Task("bystander", "nobody asks", TaskState.COMPLETED, result="left alone"),
    "running bystander": Task("running bystander", "somebody is at it", TaskState.RUNNING, worker_id="w8", attempt=1),
    "pending bystander": Task("pending bystander", "its turn comes", priority=9),
    "failed bystander": Task("failed bystander", "not today", TaskState.FAILED, error="its own", attempt=1),
}
LONG_ID = "Order 2026/077 Café B, second Try of Friday"
LONG_RESULT = "  the site is up\n" + "".join(f"step {step:02} of 20 went well\n" for step in range(1, 21))
OLD = {"created_at": STORY_BEGINS - timedelta(days=2), "available_at": STORY_BEGINS - timedelta(days=1)}
NOT_YET = {"available_at": STORY_BEGINS + timedelta(days=1), "priority": -3}  # whoever asks for it by its id wants it now
LEASED = {"worker_id": "w1", "lease_expires_at": STORY_BEGINS + timedelta(days=365)}


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
        for bystander in BYSTANDERS.values():
            process.store.save(bystander)
        process.store.save(Task(self.id, self.input, TaskState(self.state), **self.fields))

    def work(self, process: Process) -> Callable[[str, str], str]:
        """The work: deploy what was asked for, under the key that was given."""

        @called("work")
        def work(user_input: str, idempotency_key: str) -> str:
            process.note("work", f"{user_input} key={idempotency_key}")
            answer = process.cloud.deploy_container(user_input, key=idempotency_key)
            return answer if self.result is None else self.result

        return work

    def call(self, function: Any, process: Process) -> Any:
        return function(process.store, self.id, self.work(process))

    def call_and_look(self, function: Any, process: Process) -> Any:
        """What the call returned, beside what was stored at that moment (others may go on and change it)."""
        returned = self.call(function, process)
        return {"returned": returned, "stored": stored(process)[self.id]}

    def cancel(self, function: Any, process: Process) -> Any:
        """Another actor: a person cancels the task, if it is still there to be cancelled."""
        task = process.store.get(self.id)
        assert task is not None
        return process.store.save(replace(task, state=TaskState.CANCELLED))

    def leave_in_work(self, how: type[BaseException], function: Any, process: Process) -> Any:
        """The first process is told to leave in the middle of the work; what it left is noted."""

        @called("work")
        def work(user_input: str, idempotency_key: str) -> str:
            if process.name == "p1":
                process.note("told to leave")
                raise how(TOLD)
            return self.work(process)(user_input, idempotency_key)

        try:
            return function(process.store, self.id, work)
        finally:
            process.note("left", stored(process)[self.id]["state"])

    def case(self, name: str, function: str, *calls: Callable[[Any, Process], Any], **options: Any) -> Case:
        """A case of this story, by default with one call of the answer's `function`."""
        facts: dict[str, Any] = {"id": self.id, "input": self.input, "result": self.wanted, "start": self.state}
        facts |= {"fields": plain(self.fields), "bystanders": {name: str(t.state) for name, t in BYSTANDERS.items()}}
        return Case(
            name, bodies(function, *(calls or (self.call,))), self.set_up, facts=facts, **{"databases": SQL, **options}
        )


def shared_cases(function: str) -> tuple[Case, ...]:
    """The cases that both exercises have."""
    unknown, leaver = Story(id="t9", input="elsewhere"), Story(id="t11", input="queue")
    return (
        Story(id="t5", input="blog", result="", fields=NOT_YET).case("falsy_result", function),
        unknown.case("unknown", function, lambda call, process: call(process.store, "nobody", unknown.work(process))),
        Story("completed", "t6", "done before", fields={"result": "v1 is up"}).case("completed", function),
        Story("completed", "t7", "silent", fields={"result": ""}).case("completed_empty", function),
        Story("cancelled", "t8", "unwanted").case("cancelled", function),
        Story(id="t10", input="mail").case(
            "work_fails", function, schedules=tuple(f"p1@cloud1.before+error({name})" for name in FAILURES)
        ),
        leaver.case("work_exits", function, partial(leaver.leave_in_work, SystemExit)),
        leaver.case("work_is_killed", function, partial(leaver.leave_in_work, Killed)),
        *failures(function),
    )


def races(story: Story, function: str) -> tuple[Case, ...]:
    """Two callers at once, and a caller and somebody who cancels. One preemption: what a second one shows, the first has shown."""
    look = story.call_and_look
    return (
        story.case("two_callers", function, look, look, engine="interleave", preemptions=1),
        story.case("cancelled_meanwhile", function, look, story.cancel, engine="interleave", preemptions=1),
    )
