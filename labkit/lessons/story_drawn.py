"""The green suite, and a run of it drawn: claims, calls to the cloud, a death, and how the task is in the end.

Not handled here: the statements of SQL in between, which are left out (`labkit.invariants.run` has them all).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.trace import Line
from labkit.faults.trace import Trace as Crossings
from labkit.invariants import STORIES, System, Trace, recorded, run, systems
from labkit.invariants.events import from_text
from labkit.lessons.green_tests import every_task_completed

SHOP = "no_key"  # the system of the customer who paid twice
SUITE = ("calm", "shaky", "crash", "late")  # what its tests put it through; `t-1` is always Ann's
CLIENT = "client"
DRAWN = ("submitted", "claimed", "written")
TIMES = {1: "once", 2: "twice"}


def suite() -> Table:
    """The tests of the shop, and beside them what its ledger says."""
    rows = []
    for story in SUITE:
        trace = recorded(SHOP, story)
        said, paid = every_task_completed(trace), charges(trace)
        rows.append(
            [
                f"test_{story}",
                bad(said) if said else good("passed"),
                (bad if paid > 1 else good)(TIMES.get(paid, f"{paid} times")),
            ]
        )
    return table(["test", "every task completed?", "Ann was charged"], rows)


def charges(trace: Trace, task: str = "t-1") -> int:
    """How often somebody was charged for this task."""
    return Counter(event.name for event in trace.events if event.task_id == task)["charge"]


def drawn(system: str = SHOP, story: str = "crash") -> Crossings:
    """This run, made now, as its workers saw it: a lane for the client and one for each of them."""
    chosen = next(one for one in STORIES if one.name == story)
    made = run(_system(system), chosen)
    lanes = dict(zip(made.processes, (CLIENT, *chosen.workers), strict=False))
    return Crossings(f"{system}.{story}", tuple(_seen(made, lanes)))


def _system(name: str) -> System:
    return next(system for system in systems() if system.name == name)


def _seen(made: Trace, lanes: dict[str, str]) -> Iterator[Line]:
    """The lines that tell the story, in the lanes of those who act; whoever only comes to look has none. Calls are counted afresh."""
    calls: Counter[str] = Counter()
    for line in made.lines:
        mine = replace(line, process=lanes.get(line.process, ""))
        if not mine.process or (line.kind == "end" and line.label == "returned"):
            continue
        if line.kind == "cross" and line.boundary == "cloud":
            calls[mine.process] += line.side == "before"
            yield replace(mine, number=calls[mine.process])
        elif line.kind == "note" and line.label in DRAWN:
            yield replace(mine, text=" ".join(str(from_text(line.label, line.text)).split()[1:]))
        elif line.kind in ("start", "effect", "end"):
            yield mine
    last = made.lines[-1].time
    yield from (
        Line("note", CLIENT, last, label="at the end", text=f"{task.id} is {task.state}")
        for task in made.tasks.values()
    )
