"""A run as its domain sees it: what became of each task, and what happened to them, in order.

It is the trace of the crossings with `tasks` and `events` read off it, so whatever takes a trace takes this one too. An invariant is a function of it
that returns None when the run is fine, else one sentence.

Not handled here: which runs there are (see `runs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from labkit.faults import trace as crossings
from labkit.faults.chart_table import table
from labkit.faults.scenario import End
from labkit.invariants.events import KINDS, TraceEvent, from_text
from labkit.tables import task_from_row
from labkit.task import Task, TaskState


@dataclass(frozen=True)
class Trace(crossings.Trace):
    """`tasks` are the final ones by id, those that were submitted first before the others; one that is gone is missing."""

    token: str = ""
    lines: tuple[crossings.Line, ...] = ()
    tasks: dict[str, Task] = field(default_factory=dict)
    events: tuple[TraceEvent, ...] = ()

    def copy(self) -> Trace:
        """The same with tasks and events of its own: whoever changes them changes nobody else's."""
        tasks = {id: replace(task) for id, task in self.tasks.items()}
        return Trace(self.token, self.lines, tasks, tuple(replace(event) for event in self.events))

    def __hash__(self) -> int:
        return hash((self.token, self.events))

    def __str__(self) -> str:
        ends = [f"at the end {task.id} is {TaskState(task.state)}" for task in self.tasks.values()]
        return "\n".join([*map(str, self.events), *ends])

    def __repr__(self) -> str:
        return f"<Trace {self.token}: {len(self.tasks)} tasks, {len(self.events)} events>"

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        """The events as a table, a row for each."""
        rows = [(e.kind, e.task_id, f"{e.worker}#{e.attempt}" if e.worker else "", e.name, e.key) for e in self.events]
        rows += [("at the end", task.id, "", str(TaskState(task.state)), "") for task in self.tasks.values()]
        drawn = table(("what", "task", "under", "name", "key"), rows)
        return {"text/plain": str(self), "text/html": drawn._repr_html_()}


def seen(end: End, trace: crossings.Trace | None = None) -> Trace:
    """What a run that was watched (see `watch`) shows of its tasks, by its end; with the lines of its trace, if that is given."""
    events = tuple(from_text(note.label, note.fault) for note in end.notes if note.label in KINDS)
    order = [event.task_id for event in events if event.kind == "submitted"]
    by_submission = sorted(end.tasks, key=lambda id: order.index(id) if id in order else len(order))
    tasks = {id: task_from_row(end.tasks[id]) for id in by_submission}
    return Trace(end.token, trace.lines if trace else (), tasks, events)
