"""The last word of a run, for those who watch it: the chapter's loop says it in one place, the queue says it wherever a task ends.

A path is a way for a run to end. `paths` plays each of them twice under the same schedule, once with the chapter's loop and once with the library's agent, and
counts what a browser hears that waits for a last event: exactly one, or it waits for ever or is told twice.

Not handled here: how events reach the browser (a lesson of its own), and what is said on the way.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from labkit.agent.conversation import Message, open_calls
from labkit.agent.history import history_faults
from labkit.agent.loop import Agent
from labkit.agent.script import Reply
from labkit.agent.state import AgentState
from labkit.agent.tools import Tool
from labkit.errors import BudgetExhausted
from labkit.faults import End, Process, Scenario, exactly_once, run_once
from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.lessons.agents import EFFECT_WITHOUT_RECORD, answer_to
from labkit.lessons.agents_models import Endpoint, cleans, never_ends
from labkit.lessons.agents_world import BUDGET, GOAL, TASK, UNWATCHED, Desk, desk_of
from labkit.lessons.lease_lives import said_by_workers
from labkit.lessons.queues import no_heartbeats
from labkit.progress.update import STATUSES, TERMINAL
from labkit.queue import Job, TaskQueue, Worker
from labkit.task import Task, TaskState

if TYPE_CHECKING:
    import httpx

BEHIND_THE_LAST_WORD = "in front of the commit that keeps it"
TIME = 300.0  # seconds: the task is no longer worth doing after that
ENDED = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
MakesHandler = Callable[[Process, Desk], Callable[[Job], str]]


@dataclass(frozen=True)
class Path:
    """A way for a run to end, and what the last event should be."""

    last: str
    schedule: str = "none"
    reply: Reply = cleans
    locked: bool = False  # the endpoint does not take the key
    cancels: bool = False  # the user presses Cancel while a tool runs


PATHS = {
    "an answer": Path("completed"),
    "the endpoint refuses": Path("error", locked=True),
    "all turns are used up": Path("error", reply=never_ends),
    "the deadline passes": Path("error", "p1@cloud1.after+delay(600)"),
    "the user cancels": Path("error", cancels=True),
    "killed behind an effect": Path("completed", EFFECT_WITHOUT_RECORD),
    "killed behind the last word": Path("completed", BEHIND_THE_LAST_WORD),
}


def chapters(process: Process, desk: Desk) -> Callable[[Job], str]:
    """The chapter's loop with its callback. Breaks on every path but the happy one: nobody says that it is over."""

    def handler(job: Job) -> str:
        messages: list[Message] = [{"role": "user", "content": job.user_input}]
        for _ in range(BUDGET.max_steps):
            job.check()
            process.note("thinking")
            messages.append(desk.think(messages))
            asked = open_calls(messages)
            if not asked:
                process.note("completed")
                return str(messages[-1]["content"])
            for call in asked:
                process.note("tool_call", call.name)
                messages.append(answer_to(call, desk.run(call, f"{job.key}:{call.id}")))
        raise BudgetExhausted

    return handler


def labkits(process: Process, desk: Desk) -> Callable[[Job], str]:
    """The library's agent tells what it does; how it ended is told by the queue, in the commit that ends the task."""
    return Agent("ops", process.engine, desk.client, desk.tools, process.clock, begin=_begins)


def _begins(task: Task) -> AgentState:
    return AgentState(goal=task.user_input, budget=BUDGET, constraints=UNWATCHED)


def watched(makes: MakesHandler, path: Path) -> Scenario:
    """One task in the queue and a worker for it; whoever comes after a crash waits until the lease is over."""
    return Scenario(
        makes.__name__, partial(_work, makes=makes, path=path), [partial(one_last_event, path=path)], _submit
    )


def _submit(process: Process) -> None:
    queue = TaskQueue(process.engine, clock=process.clock, new_id=lambda: TASK)
    queue.submit(GOAL, deadline=process.clock.now() + timedelta(seconds=TIME))


def _work(process: Process, makes: MakesHandler, path: Path) -> str:
    queue = TaskQueue(process.engine, clock=process.clock)
    desk = desk_of(process, _locked if path.locked else Endpoint(path.reply))
    if path.cancels:
        desk = replace(desk, tools={name: _cancelling(tool, queue) for name, tool in desk.tools.items()})
    worker = Worker(queue, makes(process, desk), "w1", every=no_heartbeats)
    for _ in range(3):
        worker.run_until_idle()
        if queue.get(TASK).state in ENDED:
            break
        process.clock.sleep(queue.lease_seconds)
    return str(queue.get(TASK).state)


def _locked(request: httpx.Request) -> httpx.Response:
    import httpx

    return httpx.Response(401, json={"error": {"message": "this key is not known"}})


def _cancelling(tool: Tool, queue: TaskQueue) -> Tool:
    def run(given: dict[str, object], key: str) -> str:
        queue.cancel(TASK)
        return tool(given, key)

    return replace(tool, run=run)


def heard(end: End) -> list[str]:
    """The last events that a browser hears: of the callback, where there is one, else those of the queue's log."""
    told = [note.label for note in end.notes if note.label in STATUSES]
    rows = sorted(end.rows.get("progress_log", ()), key=lambda row: row["position"])
    return [status for status in told or [str(row["status"]) for row in rows] if status in TERMINAL]


def one_last_event(end: End, path: Path) -> str | None:
    """An invariant: there is one last event, and it is the right one."""
    told = heard(end)
    return None if told == [path.last] else ", ".join(told) or "nothing: it waits for ever"


def schedule_of(scenario: Scenario, path: Path) -> str:
    """The schedule of a path; one that strikes behind the last word has to look where that is stored."""
    if path.schedule != BEHIND_THE_LAST_WORD:
        return path.schedule
    lines = [line for line in run_once(scenario).lines if line.kind == "cross" and line.side == "before"]
    last_word = max(place for place, line in enumerate(lines) if line.boundary == "http")
    commit = next(line for line in lines[last_word:] if line.label == "COMMIT")
    return f"p1@{commit.number}.before+crash"


def heard_on(makes: MakesHandler, path: Path) -> Mark:
    """What is heard on this path, run now."""
    scenario = watched(makes, path)
    with said_by_workers():
        why = run_once(scenario, schedule_of(scenario, path)).broken
    return bad(why) if why else good(path.last)


def whole_agent() -> Scenario:
    """The library's agent under its queue: the effect once, a history that the chat API takes, one last event."""
    return replace(
        watched(labkits, Path("completed")),
        name="agent",
        invariants=[exactly_once("clean_logs"), sound_history, one_completed],
    )


def sound_history(end: End) -> str | None:
    """An invariant: the whole conversation is one that the chat API takes."""
    rows = sorted(end.rows.get("messages", ()), key=lambda row: row["seq"])
    return next(iter(history_faults([json.loads(row["message"]) for row in rows])), None)


def one_completed(end: End) -> str | None:
    """An invariant: the end is told, once."""
    return one_last_event(end, Path("completed"))


def last_words() -> Table:
    """Each path, and the last events that are heard with each handler."""
    rows = [[name, heard_on(chapters, path), heard_on(labkits, path)] for name, path in PATHS.items()]
    return table(["the run ends with", "the chapter's loop: last events", "queue and agent: last events"], rows)
