"""Conversation and ledger as a crash leaves them: the moments of `talk_ledger`, made of runs of a scenario.

`side_by_side` kills the first process once at each place, and has a row for each distinct state that this leaves. `crash_and_end` has two rows: what one
crash left, and the end of that run.

Not handled here: several crashes in one run (see `faults.sweep`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from labkit.cloud import Effect
from labkit.faults import End, Scenario, open_world
from labkit.faults.chart_table import Mark, bad, good
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from labkit.lessons.talk_ledger import Moment, SideBySide, ledger_of, talk_of

Seen = tuple[tuple[str, ...], tuple[Effect, ...], tuple[str, ...]]  # messages, effects, calls with a result
NOTHING: Seen = ((), (), ())


def side_by_side(scenario: Scenario) -> SideBySide:
    """Each state that one crash of p1 can leave, in the order of the run."""
    moments, before = list[Moment](), NOTHING
    with open_world("memory") as world:
        runner = Runner(scenario, world)
        for place in runner.once(runner.start, 1, scenario.bodies).injections(1, ("crash",)):
            seen = _seen(_left(runner, schedule := Schedule((place,))))
            if moments and seen == before:
                moments[-1] = replace(moments[-1], places=moments[-1].places + 1)
            else:
                moments.append(_moment(seen, _new(seen, before), _judged(scenario, runner.run(schedule)[0]), 1))
            before = seen
    return SideBySide(tuple(moments))


def crash_and_end(scenario: Scenario, schedule: str) -> SideBySide:
    """What the crash of this schedule leaves, if there is one, and the end of the run."""
    with open_world("memory") as world:
        runner = Runner(scenario, world)
        left = _seen(_left(runner, Schedule.parse(schedule)))
        end = runner.run(Schedule.parse(schedule))[0]
    crashed = [_moment(left, "the crash leaves")] if len(end.outcomes) > 1 else []
    return SideBySide((*crashed, _moment(_seen(end), "in the end", _judged(scenario, end))))


def _left(runner: Runner, schedule: Schedule) -> End:
    """The world as the first process left it."""
    return runner.end(schedule, [runner.once(runner.start, 1, runner.scenario.bodies, schedule.injections)])


def _judged(scenario: Scenario, end: End) -> Mark:
    why = scenario.why_broken(end)
    return bad(why[0][1]) if why else good(str(end.last.value))


def _seen(end: End) -> Seen:
    rows = sorted(end.rows.get("messages", ()), key=lambda row: row["seq"])
    recorded = tuple(sorted(row["call_id"] for row in end.rows.get("tool_results", ()) if row["result"] is not None))
    return tuple(row["message"] for row in rows), end.effects, recorded


def _moment(seen: Seen, last: str, end: Mark | None = None, places: int = 0) -> Moment:
    messages, effects, recorded = seen
    read = [json.loads(message) for message in messages]
    told = " ".join(str(message["content"]) for message in read if message["role"] == "tool")
    return Moment(last, talk_of(read), ledger_of(effects, told, recorded), end, places)


def _new(seen: Seen, before: Seen) -> str:
    """What this state has, and the one before it has not."""
    if len(seen[1]) > len(before[1]):
        return f"{seen[1][-1].name} has happened"
    if len(seen[2]) > len(before[2]):
        return "its result is recorded"
    return _last_said(json.loads(seen[0][-1])) if len(seen[0]) > len(before[0]) else "nothing"


def _last_said(message: Mapping[str, Any]) -> str:
    calls: Sequence[Any] = message.get("tool_calls") or ()
    said = {"user": "the goal", "tool": "its answer", "assistant": "the calls" if len(calls) > 1 else "the call"}
    return said[message["role"]] if calls or message["role"] != "assistant" else "the last word"
