"""The closure of a saga as a graph: what any number of crashes can leave, by the way it is on and by what exists.

A saga of four steps leaves some twenty distinct states. Those in which it is on the same way and the same things exist are one
box here, and of the arrows only those are drawn that no other box lies on. A crash leads along arrows, as far as the work had got.

Not handled here: finding the states (see `faults.sweep`), and every state of its own (see `states`).
"""

from __future__ import annotations

from labkit.faults import End, Report, open_world
from labkit.faults.graph import Graph, graph
from labkit.faults.runner import Runner
from labkit.lessons.sagas_world import there
from labkit.plural import counted
from labkit.saga.story import Story

Ways = set[tuple[str, str]]


def reachable(report: Report) -> Graph:
    """The graph of a sweep: a box for each way and what exists on it, and one for each way to end."""
    assert report.closure is not None
    boxes: dict[str, list[str]] = {}  # text -> keys of its states
    ends: dict[str, tuple[str, bool]] = {}  # key of a state -> how it ends, and whether that is bad
    with open_world("memory") as world:
        runner = Runner(report.scenario, world)
        for key, state in report.closure.states.items():
            world.put_back(state.photograph)
            boxes.setdefault(_said(runner.end(state.schedule, [])), []).append(key)
            end, why = runner.run(state.schedule)[0], report.verdicts.get(key)
            ends[key] = (why or f"{end.last.value}, and there is: {there(end)}", why is not None)
    return _drawn(report, boxes, ends)


def _drawn(report: Report, boxes: dict[str, list[str]], ends: dict[str, tuple[str, bool]]) -> Graph:
    assert report.closure is not None
    box_of = {key: f"S{number}" for number, keys in enumerate(boxes.values()) for key in keys}
    names = {said: f"end {number}" for number, said in enumerate(dict.fromkeys(ends.values()), 1)}
    nodes = [(box_of[keys[0]], f"{text} ({counted(len(keys), 'state')})", False, False) for text, keys in boxes.items()]
    nodes += [(name, text, broken, True) for (text, broken), name in names.items()]
    crashes = {(box_of[before], box_of[left]) for before, _, left in report.closure.reached}
    finishes = {(box_of[key], names[said]) for key, said in ends.items()}
    order = [node[0] for node in nodes]
    ways = sorted(next_only(crashes) | finishes, key=lambda way: (order.index(way[0]), order.index(way[1])))
    return graph(nodes, [(*way, "", 1) for way in ways])


def next_only(ways: Ways) -> Ways:
    """The ways between different boxes that cannot be made of two others: where those lead, these lead."""
    ways = {(a, b) for a, b in ways if a != b}
    detours = {(a, d) for a, b in ways for c, d in ways if b == c}
    return ways - detours


def _said(end: End) -> str:
    """On which way a saga is, and what exists."""
    story = Story.of([(row["event"], row["step"]) for row in end.rows.get("saga_log", [])])
    unknown = [row["step"] for row in end.rows.get("saga_log", []) if row["event"] == "unknown"]
    way = story.final or ("back" if story.backward else "forward" if story.last else "not begun")
    doubt = f", {', '.join(unknown)} unknown" if unknown else ""
    return f"{way}{doubt}: {there(end)}"
