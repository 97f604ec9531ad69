"""The states that crashes can leave, in words and as a graph.

`reachable` draws what a sweep found: a box for each distinct durable state and one for each way to end, an arrow for the
crash points that lead from one to another. `compared` sets several sweeps side by side.

Not handled here: finding the states (see `faults.sweep`).
"""

from __future__ import annotations

from collections import Counter

from labkit.cloud import Effect, resources
from labkit.faults import End, Report, Scenario, Schedule, open_world
from labkit.faults.chart_table import Table, table
from labkit.faults.graph import Graph, graph
from labkit.faults.runner import Runner
from labkit.faults.strip import Strip, strip


def reachable(report: Report) -> Graph:
    """The graph of a sweep: states by the number of crashes that it takes, and where each ends when nothing more dies."""
    assert report.closure is not None
    names: dict[str, str] = {}
    nodes: list[tuple[str, str, bool, bool]] = []
    ends: dict[tuple[str, bool], str] = {}
    edges: Counter[tuple[str, str, str]] = Counter()
    with open_world("memory") as world:
        runner = Runner(report.scenario, world)
        for number, (key, state) in enumerate(report.closure.states.items()):
            names[key] = f"S{number}"
            world.put_back(state.photograph)
            nodes.append((names[key], _said(runner.end(state.schedule, [])), False, False))
            end = runner.replay(state.schedule)[0]
            why = report.verdicts.get(key)
            said = (why or _said(end), why is not None)
            ends.setdefault(said, f"end {len(ends) + 1}" if len(ends) else "end")
            edges[names[key], ends[said], ""] += 1
    nodes += [(name, text, broken, True) for (text, broken), name in ends.items()]
    for before, _, left in report.closure.reached:
        if before != left:
            edges[names[before], names[left], "crash"] += 1
    return graph(nodes, [(*way, count) for way, count in edges.items()])


def _said(end: End) -> str:
    """A state in a few words: the tasks and what exists outside."""
    states = [str(task["state"]) for task in end.tasks.values()]
    things = [_counted(kind.split()[0], count) for kind, count in sorted(_existing(end.effects).items())]
    files = [f"file {name}" for name in sorted(end.files) if name != "tasks.json"]
    return ", ".join([*states, *things, *files]) or "nothing"


def _existing(effects: tuple[Effect, ...]) -> Counter[str]:
    """What exists; more than two of a kind count as two, as in the state key."""
    return Counter({kind: min(count, 2) for kind, count in resources(effects).items()})


def _counted(kind: str, count: int) -> str:
    return kind if count == 1 else f"{count}+ {kind}s"


def compared(reports: list[Report]) -> Table:
    """Crash points, distinct states and verdict of several sweeps."""
    rows = []
    for report in reports:
        assert report.closure is not None
        why = report.broken[0].why if report.broken else ""
        crashes = report.broken[0].token.count("+crash") if report.broken else ""
        closure = report.closure
        rows.append([report.scenario.name, closure.crash_points, len(closure.states), report.verdict, crashes, why])
    return table(["", "crash points", "states", "verdict", "crashes needed", "why"], rows)


def one_crash(scenario: Scenario) -> list[tuple[str, str, str]]:
    """(token, verdict, why), as `faults.strip` draws them: a single crash at each place, each run followed to its end."""
    found = []
    with open_world("memory") as world:
        runner = Runner(scenario, world)
        calm = runner.replay(Schedule())[1]
        places = [f"p1@{line.number}.{line.side}+crash" for line in calm.lines if line.kind == "cross"]
        for place in places:
            trace = runner.replay(Schedule.parse(place))[1]
            found.append((trace.token, "broken" if trace.broken else "holds", trace.broken or ""))
    return found


def one_crash_each(*scenarios: Scenario) -> Strip:
    """A strip for each scenario."""
    return strip((scenario.name, one_crash(scenario)) for scenario in scenarios)
