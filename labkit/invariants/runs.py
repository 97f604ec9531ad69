"""The systems put through the stories: real runs under the simulator.

Each takes a moment, and a check wants all of them at once. So they were made beforehand and stand in `recorded.jsonl`, from where `runs` reads them;
`run` makes one again, with its crossings. A test holds one against the other. After a change of a system or a story: `python -m labkit.invariants.runs`.

Not handled here: what must hold of them (see `rules`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import UsageError
from labkit.faults.outcome import plain
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from labkit.faults.trace import Trace as Crossings
from labkit.faults.world import World
from labkit.invariants.events import BETWEEN, from_text, to_text
from labkit.invariants.stories import FIRST_WORKER, STORIES, Mishap, Story
from labkit.invariants.systems import SOUND, System, systems
from labkit.invariants.trace import Trace, seen
from labkit.tables import task_from_row
from labkit.task import Task

ALL_STORIES = {story.name: story for story in STORIES}
RECORD = Path(__file__).with_name("recorded.jsonl")
Recorded = dict[tuple[str, str], Trace]


def runs(system: System | str) -> list[Trace]:
    """One recorded run for each story, in the order of `STORIES`. Each call gives tasks and events of its own."""
    name = system if isinstance(system, str) else system.name
    return [recorded(name, story.name) for story in STORIES]


def recorded(system: str, story: str) -> Trace:
    """The recorded run of this system through this story; `UsageError` where there is none."""
    name = f"{system}.{story}"
    if name not in _lines():
        raise UsageError(f"there is no run {name}")
    return _read(name).copy()


def run(system: System, story: Story) -> Trace:
    """The run made now, with the lines of its crossings."""
    with World("memory") as world:
        runner = Runner(story.scenario(system), world)
        end, trace = runner.replay(Schedule())
        if story.mishap is not None:
            end, trace = runner.replay(Schedule.parse(_place(trace, story.mishap)))
    return seen(end, trace)


def _place(calm: Crossings, mishap: Mishap) -> str:
    """The schedule in which the mishap strikes, found in the run that nothing disturbs; none where what it waits for does not happen."""
    worker = f"p{FIRST_WORKER}"
    found = [
        line.number
        for line in calm.lines
        if (line.kind, line.process, line.label) == ("note", worker, mishap.kind)
        and mishap.name in ("", line.text.split(BETWEEN)[3])
    ]
    return f"{worker}@{found[mishap.nth - 1]}.after+{mishap.fault}" if len(found) >= mishap.nth else "none"


@cache
def _lines() -> dict[str, str]:
    """The lines of the record by the name of their run."""
    return {line.split('"', 4)[3]: line for line in RECORD.read_text(encoding="utf-8").splitlines()}


@cache
def _read(name: str) -> Trace:
    said: dict[str, Any] = json.loads(_lines()[name])
    if "events" not in said:  # it went as in the sound system
        return replace(_read(f"{SOUND.name}.{name.partition('.')[2]}"), token=said["token"])
    tasks = [task_from_row(row) for row in said["tasks"]]
    events = tuple(from_text(*text.split(" ", 1)) for text in said["events"])
    return Trace(said["token"], (), {task.id: task for task in tasks}, events)


def to_lines(made: Recorded) -> list[str]:
    """The runs as the record holds them, those of the sound system first."""
    lines = []
    for (system, story), trace in made.items():
        said: dict[str, Any] = {"run": f"{system}.{story}", "token": trace.token}
        sound = made[SOUND.name, story]
        if system == SOUND.name or (trace.events, trace.tasks) != (sound.events, sound.tasks):
            said["events"] = [f"{event.kind} {to_text(event)}" for event in trace.events]
            said["tasks"] = [_row(task) for task in trace.tasks.values()]
        lines.append(json.dumps(said))
    return lines


def _row(task: Task) -> dict[str, Any]:
    return {name: plain(value) for name, value in vars(task).items() if value is not None}


if __name__ == "__main__":
    MADE = {(system.name, story.name): run(system, story) for system in systems() for story in STORIES}
    RECORD.write_text("\n".join([*to_lines(MADE), ""]), encoding="utf-8")
