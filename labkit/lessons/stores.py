"""Five troubles that a store of tasks meets, each as something that is run on a store and gives a verdict.

A shelf is a way to keep tasks: `CHAPTER` holds the ways of `chapter_stores`, `LABKIT` the library's. A trouble run on a
shelf gives a cell of a table (see `store_grid`): it holds, it is broken, or nobody saw it happen. Crashes and torn writes strike at every place
where they can; the lock is held by a real transaction of a real database, in virtual time.

Not handled here: power cuts (a disk that lies about fsync), and more than two writers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.exc import DBAPIError

from labkit.errors import StaleTask, UnstorableValue
from labkit.faults import End, Process, Scenario, Schedule, open_world, run_once, sweep
from labkit.faults.chart_table import Mark, bad, good, unknown
from labkit.faults.paint import seconds
from labkit.faults.runner import Runner
from labkit.faults.scenario import Body
from labkit.faults.trace import Line, Trace
from labkit.lessons import chapter_stores
from labkit.lessons.deadlines import ask
from labkit.lessons.story import APP
from labkit.store import JsonFileStore, MemoryStore, SqlStore
from labkit.task import Task, TaskState

TASK = "deploy-shop"
MODEL_SECONDS = 60.0
TORN_AT = (0, 1, 60)  # bytes that reach the disk before the process dies
ODD = {"a NUL": "log\x00end", "half an emoji": "done \ud83d", "bytes": b"raw log"}


@dataclass(frozen=True)
class Shelf:
    """A way to keep tasks: `opened` makes the store of one process, `database` is where its tables are."""

    name: str
    opened: Callable[[Process], Any]
    database: str = "memory"

    @property
    def slug(self) -> str:
        return self.name.lower().replace(", ", "_").replace(" ", "_")


CHAPTER = (
    Shelf("memory", chapter_stores.Forgetful),
    Shelf("JSON, in place", chapter_stores.InPlace),
    Shelf("JSON, replaced", chapter_stores.Replaced),
    Shelf("SQLite", chapter_stores.Upsert, "sqlite"),
    Shelf("PostgreSQL", chapter_stores.Upsert, "postgres"),
)
LABKIT = (
    Shelf("memory", lambda process: MemoryStore(process.clock)),
    Shelf("JSON, replaced", lambda p: JsonFileStore(chapter_stores.FILE, p.clock, files=p.files)),
    Shelf("SQLite", lambda process: SqlStore(process.engine), "sqlite"),
    Shelf("PostgreSQL", lambda process: SqlStore(process.engine), "postgres"),
)


def accepts(shelf: Shelf) -> Scenario:
    """A task is saved, the user is told "accepted", the work begins. Restarted, the process looks for the task."""

    def accept(process: Process) -> str:
        store = shelf.opened(process)
        task = store.save(Task(TASK, f"deploy {APP}"))
        process.cloud.send_mail("user", key="accepted")
        return str(store.save(replace(task, state=TaskState.RUNNING)).state)

    def begin(process: Process) -> None:
        shelf.opened(process)

    def look(process: Process) -> str:
        task = shelf.opened(process).get(TASK)
        return str(task.state) if task else "no such task"

    return Scenario(f"accepts.{shelf.slug}", accept, [accepted_is_there, can_be_read], begin, look)


def accepted_is_there(end: End) -> str | None:
    """An invariant: a task that the user was told of is there."""
    lost = end.count("send_mail") and end.last.value == "no such task"
    return "the user was told, and the task is gone" if lost else None


def can_be_read(end: End) -> str | None:
    """An invariant: what was stored can be read."""
    return f"unreadable: {end.last.error['type']}" if end.last.how == "raised" else None


def crash(shelf: Shelf) -> Mark:
    """Die at every place of a run, and of every recovery."""
    report = sweep(accepts(shelf), shelf.database)
    return bad("task gone") if report.broken else good("task kept")


def torn_runs(shelf: Shelf) -> list[Trace]:
    """Die inside every write to a file, with a few different numbers of bytes on the disk."""
    scenario = accepts(shelf)
    writes = [line for line in run_once(scenario).lines if line.label.startswith("write ")]
    places = [line.number for line in writes if line.side == "before"]
    return [run_once(scenario, f"p1@{number}.before+torn({size})") for number in places for size in TORN_AT]


def left_behind(shelf: Shelf, schedule: str) -> str:
    """What stands in the file when the first process has died under this schedule."""
    with open_world(shelf.database) as world:
        runner = Runner(replace(accepts(shelf), recover=lambda process: None), world)
        return runner.replay(Schedule.parse(schedule))[0].files[chapter_stores.FILE.name]


def torn_write(shelf: Shelf) -> Mark:
    traces = torn_runs(shelf)
    if not traces:
        return unknown("no file of ours")
    broken = sum(trace.broken is not None for trace in traces)
    return bad(f"lost in {broken} of {len(traces)} runs") if broken else good(f"whole in all {len(traces)} runs")


def running_task(shelf: Shelf) -> Body:
    """A setup: the task is there, and running."""

    def setup(process: Process) -> None:
        shelf.opened(process).save(Task(TASK, f"deploy {APP}", TaskState.RUNNING))

    return setup


def adds(shelf: Shelf, note: str) -> Body:
    """An agent that adds a note to the task: read, think, write. Says whether it was told "saved"."""

    def body(process: Process) -> str:
        store = shelf.opened(process)
        return add(process, store, note)

    return body


def add(process: Process, store: Any, note: str) -> str:
    task = store.get(TASK)
    ask(process, 1.0)
    try:
        store.save(replace(task, result=f"{task.result or ''} {note}".strip()))
    except StaleTask:
        return "refused"
    return f"saved {note}"


def notes_stay(end: End) -> str | None:
    """An invariant: whoever was told "saved" finds the note in the task."""
    told = {str(o.value).removeprefix("saved ") for o in end.outcomes if str(o.value).startswith("saved ")}
    lost = sorted(told - set((end.tasks[TASK]["result"] or "").split()))
    return f"{lost[0]} was told that its note is saved, and it is gone" if lost else None


def two_agents(shelf: Shelf) -> Scenario:
    """Two agents that each add a note to one task, at the same time."""
    return Scenario(
        f"two_agents.{shelf.slug}", [adds(shelf, "A"), adds(shelf, "B")], [notes_stay], setup=running_task(shelf)
    )


def both_read_first(shelf: Shelf) -> Body:
    """The worst order in one process: A reads, B reads, A writes, B writes."""

    def body(process: Process) -> str:
        store = shelf.opened(process)
        running_task(Shelf(shelf.name, lambda process: store))(process)
        seen = [store.get(TASK), store.get(TASK)]
        for note, task in zip("AB", seen, strict=True):
            try:
                store.save(replace(task, result=f"{task.result or ''} {note}".strip()))
            except StaleTask:
                return f"{note} refused"
        return f"kept {store.get(TASK).result}"

    return body


def two_writers(shelf: Shelf) -> Mark:
    said = str(play(shelf, both_read_first(shelf)).last.value)
    return good("B is told") if said == "B refused" else bad("A's note gone")


def keeps(shelf: Shelf) -> dict[str, str]:
    """What becomes of a task with each odd value as its result: kept, changed, or who refuses it."""

    def body(process: Process) -> dict[str, str]:
        store = shelf.opened(process)
        return {name: keep(store, Task(name, f"deploy {APP}", TaskState.RUNNING), value) for name, value in ODD.items()}

    return dict(play(shelf, body).last.value)


def keep(store: Any, task: Task, value: Any) -> str:
    running = store.save(task)
    try:
        store.save(replace(running, state=TaskState.COMPLETED, result=value))
    except UnstorableValue as error:
        return f"refused: {error.path}"
    except (ValueError, DBAPIError) as error:
        return type(error).__name__
    return "kept" if store.get(task.id).result == value else "changed"


def odd_value(shelf: Shelf) -> Mark:
    found = keeps(shelf)
    if all(what.startswith("refused") for what in found.values()):
        return good("refused by name")
    other = [name for name, what in found.items() if what != "kept"]
    return bad(f"not {', '.join(other)}") if other else good("keeps all")


def held(shelf: Shelf) -> Scenario:
    """One agent runs a step in which it asks the model; meanwhile the user presses Cancel."""

    def agent(process: Process) -> str:
        def step(task: Task) -> Task:
            ask(process, MODEL_SECONDS)
            return replace(task, result="thought about it")

        shelf.opened(process).execute_step(TASK, step)
        return "saved"

    def user(process: Process) -> str:
        store = shelf.opened(process)
        store.save(replace(store.get(TASK), state=TaskState.CANCELLED))
        return "cancelled"

    return Scenario(f"held.{shelf.slug}", [agent, user], [cancel_is_quick], setup=running_task(shelf))


def cancel_is_quick(end: End) -> str | None:
    """An invariant: the user's Cancel goes through at once."""
    user = end.outcomes[1]
    if user.how == "raised":
        return f"Cancel failed: {user.error['type']}"
    late = end.seconds >= MODEL_SECONDS and end.outcomes[0].how == "returned"
    return "Cancel waited for the model" if late else None


def end_of_user(trace: Trace) -> Line:
    """When and how the user's process ended."""
    return next(line for line in trace.lines if line.kind == "end" and line.process == "p2")


def lock_held(shelf: Shelf) -> Mark:
    if shelf.name == "memory":
        return unknown("one process only")
    trace = run_once(held(shelf), database=shelf.database)
    user = end_of_user(trace)
    took = round(user.time)
    if user.label == "raised":
        return bad(f"fails after {seconds(took)}")
    return bad(f"waits {seconds(took)}") if took else good("no wait")


def play(shelf: Shelf, body: Body) -> End:
    """Run one process alone, on this shelf."""
    with open_world(shelf.database) as world:
        return Runner(Scenario(shelf.slug, body), world).replay(Schedule())[0]
