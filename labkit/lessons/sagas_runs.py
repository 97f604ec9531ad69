"""Sagas side by side: the cloud before, during and after, one fault at each place, and what the caller hears of a failed undo.

Each cell of a table and of a strip is a run, made now. What a saga warns of in the log of its process is seen there too, so
nobody prints it a second time.

Not handled here: the sagas themselves (see `sagas`), and many faults in one run (see `faults.search`).
"""

from __future__ import annotations

import logging
from collections import Counter

from labkit.cloud import CHANGES
from labkit.faults import End, Scenario, Schedule, open_world, run_once
from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.faults.fault import Fault, fits
from labkit.faults.runner import Runner
from labkit.faults.strip import Strip, strip
from labkit.lessons.sagas import REFUSED, Way, deployment, full_zone, locked_zone
from labkit.lessons.sagas_world import PAIRS, all_or_nothing, there

logging.getLogger("labkit.saga").addHandler(logging.NullHandler())
EACH = "a cell is one {}, on one side of a call of p1"
MOMENTS = ("before", "when step 3 has failed", "after the first undo", "after the second undo", "after")
TROUBLES = ("step 3 refused", "zone full, a crash", "refused once, a crash", "an answer lost", "an undo fails")

Found = list[tuple[str, str, str]]


def end_of(scenario: Scenario, schedule: str) -> tuple[End, str, str | None]:
    """How it ended, what there is, and why that is wrong."""
    with open_world("memory") as world:
        end = Runner(scenario, world).run(Schedule.parse(schedule))[0]
    return end, there(end), all_or_nothing(end)


def cloud_by_moment(*ways: Way) -> Table:
    """What there is in the cloud: a column for each way, a row for each moment of the refused step 3."""
    heads = [_said(way) for way in ways]
    return table(["", *heads], zip(MOMENTS, *map(_moments, ways), strict=True))


def _moments(way: Way) -> list[str | Mark]:
    """The cloud at each moment: before, when step 3 was refused, after each undo, and in the end."""
    states, is_there = ["nothing"], Counter[str]()
    for line in run_once(deployment(way), REFUSED).lines:
        if line.kind == "effect":
            kind, change = CHANGES[line.label.split()[0]]
            is_there[kind] += change
            states[-1] = _named(is_there)
        elif line.label == "TerminalError":
            states[-1] += f"; {line.text.split()[0]} was refused"
        elif line.boundary == "cloud" and line.side == "before":
            states.append(_named(is_there))
    last = _named(is_there)
    return ["nothing", *states[3:], (good if last == "nothing" else bad)(last)]


def _named(is_there: Counter[str]) -> str:
    return ", ".join(name for name in PAIRS if is_there[name]) or "nothing"


def _said(way: Way) -> str:
    return way.__name__.replace("_", " ")


def _way(scenario: Scenario) -> str:
    """The name of the way alone; the whole name is in each token."""
    return scenario.name.rpartition(".")[2].replace("_", " ")


def places(scenario: Scenario, fault: str = "crash", first: str = "", boundary: str = "") -> Found:
    """(token, verdict, why), as `faults.strip` draws them: the fault at each place of p1 where it can sit, one run each.

    `first` is a schedule that comes before it, `boundary` leaves the calls over the others out.
    """
    kind, found = Fault.parse(fault).kind, []
    with open_world("memory") as world:
        runner = Runner(scenario, world)
        calm = runner.replay(Schedule.parse(first or "none"))[1]
        lines = [line for line in calm.lines if line.kind == "cross" and line.process == "p1" and not line.fault]
        for line in lines:
            if boundary in ("", line.boundary) and fits(kind, line.boundary, line.side):
                schedule = ",".join(filter(None, (first, f"p1@{line.number}.{line.side}+{fault}")))
                trace = runner.replay(Schedule.parse(schedule))[1]
                found.append((trace.token, "broken" if trace.broken else "holds", trace.broken or ""))
    return found


def crashes(*scenarios: Scenario, first: str = "") -> Strip:
    """A strip for each scenario: one crash at each place."""
    return strip(((_way(one), places(one, first=first)) for one in scenarios), each=EACH.format("crash"))


def lost_answers(*scenarios: Scenario) -> Strip:
    """A strip for each scenario: one answer of the cloud that does not come, before or after it has happened."""
    rows = ((_way(one), places(one, "timeout", boundary="cloud")) for one in scenarios)
    return strip(rows, each=EACH.format("answer that is lost"))


def failed_undos(*ways: Way) -> Table:
    """What the caller hears when an undo fails for good, what there is, and what it costs to ask again."""
    rows = []
    for way in ways:
        with open_world("memory") as world:
            runner = Runner(locked_zone(way), world)
            end = runner.run(Schedule())[0]
            again = runner.generation(2, runner.scenario.bodies)
        calls = sum(line.boundary == "cloud" and line.side == "before" for line in again.lines)
        is_there = (bad if all_or_nothing(end) else good)(there(end))
        rows.append([_said(way), end.last.value, is_there, again.outcomes[0].value, calls])
    return table(["", "the caller hears", "there is", "asked again", "calls for that"], rows)


def log_of(scenario: Scenario, schedule: str) -> Table:
    """The log of a saga in the end."""
    entries = end_of(scenario, schedule)[0].rows["saga_log"]
    columns = ("seq", "event", "step", "error")
    return table(["entry", *columns[1:]], [[entry[name] for name in columns] for entry in entries])


def compared(*ways: Way) -> Table:
    """Each way under each trouble: in how many runs it breaks."""
    rows = [[_said(way), *map(_judged, _troubles(way))] for way in ways]
    return table(["", *TROUBLES], rows, "Runs that end badly, one fault at each place")


def _troubles(way: Way) -> list[Found]:
    plain, full = deployment(way), full_zone(way)
    lost = places(plain, "timeout", boundary="cloud")
    return [_one(plain, REFUSED), places(full), places(plain, first=REFUSED), lost, _one(locked_zone(way), "none")]


def _one(scenario: Scenario, schedule: str) -> Found:
    why = end_of(scenario, schedule)[2]
    return [("", "broken" if why else "holds", why or "")]


def _judged(found: Found) -> Mark:
    broken = sum(verdict == "broken" for _, verdict, _ in found)
    return (bad if broken else good)(f"{broken} of {len(found)}")
