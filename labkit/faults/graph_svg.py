"""Draws a graph of states: boxes in layers, ways as arrows, a thick frame around what is broken, a double one at ends.

A label is drawn where it covers nothing; where there is no room it is left to the hint that a way shows on pointing.

Not handled here: places (see `graph_layout`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from labkit.faults.graph import Edge, Graph
from labkit.faults.graph_layout import LEAD, Place, Plan, head_of, label_width, plan, swing
from labkit.faults.paint import BASE_STYLE, element, escape, rule, words, wrap

ALONG, AT_THE_END = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.9), (0.9, 0.85, 0.8, 0.75)
CROWD = 5  # ways out of one state, beyond which only their ends tell them apart
SAMPLES = 64  # points of each curve that a label must not cover
Point = tuple[float, float]
Curve = tuple[Point, Point, Point, Point]
Box = tuple[float, float, float, float]  # x1, y1, x2, y2

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk .lk-state", "fill:currentColor;fill-opacity:.045;stroke:currentColor;stroke-opacity:.45"),
        rule(".lk .lk-end", "fill@green;fill-opacity:.12;stroke@green;stroke-width:1.5"),
        rule(".lk .lk-inner", "fill:none;stroke@green"),
        rule(".lk .lk-innerbad", "fill:none;stroke@red"),
        rule(".lk .lk-bad", "fill@red;fill-opacity:.12;stroke@red;stroke-width:3"),
        rule(".lk .lk-head", "font-weight:600"),
        rule(".lk .lk-headbad", "font-weight:600;fill@red"),
        rule(".lk .lk-way", "fill:none;stroke:currentColor;stroke-opacity:.42"),
        rule(".lk .lk-waybad", "fill:none;stroke@red;stroke-opacity:.75;stroke-dasharray:6 3"),
        rule(".lk .lk-arrow", "fill:currentColor;fill-opacity:.6"),
        rule(".lk .lk-arrowbad", "fill@red"),
        rule(".lk .lk-edge", "font-size:10px;fill-opacity:.8"),
    ]
)


@dataclass
class _Canvas:
    """What is drawn, and the boxes and points that labels must not cover."""

    graph: Graph
    plan: Plan
    drawn: list[str] = field(default_factory=list)
    taken: list[Box] = field(default_factory=list)
    inked: list[Point] = field(default_factory=list)
    ports: dict[tuple[int, str], float] = field(default_factory=dict)  # (edge, source or target) -> y


def drawn(graph: Graph) -> str:
    """The graph as a fragment of HTML."""
    canvas = _Canvas(graph, plan(graph))
    canvas.taken = [(p.x - 3, p.y - 3, p.x + p.wide + 3, p.y + p.high + 3) for p in canvas.plan.places.values()]
    _ports(canvas)
    curves = [_curves(canvas, index, edge) for index, edge in enumerate(graph.edges)]
    canvas.inked = [_on(curve, step / SAMPLES) for parts in curves for curve in parts for step in range(SAMPLES + 1)]
    canvas.drawn += [_way(canvas, edge, parts) for edge, parts in zip(graph.edges, curves, strict=True)]
    canvas.drawn += [_state(canvas, place) for place in canvas.plan.places.values()]
    for edge, parts in zip(graph.edges, curves, strict=True):
        _label(canvas, edge, parts)
    return element("div", f"<style>{STYLE}</style>{_svg(canvas)}{_legend(graph)}", cls="lk lk-graph")


def _svg(canvas: _Canvas) -> str:
    wide, high = math.ceil(canvas.plan.wide), math.ceil(canvas.plan.high)
    names = element("title", f"Durable states: {escape(canvas.graph.sum)}") + element(
        "desc", escape(repr(canvas.graph))
    )
    style = f"display:block;width:100%;max-width:{wide}px;min-width:{round(wide * 0.75)}px;height:auto"
    body = names + "".join(canvas.drawn)
    svg = element("svg", body, viewBox=f"0 0 {wide} {high}", width=wide, height=high, role="img", style=style)
    return element("div", svg, cls="lk-scroll")


def _ports(canvas: _Canvas) -> None:
    """Spread the ends of the ways over the sides of the states, in the order of where they lead."""
    sides: dict[tuple[str, str], list[tuple[float, int, str]]] = {}
    for index, edge in enumerate(canvas.graph.edges):
        source, target = canvas.plan.places[edge.source], canvas.plan.places[edge.target]
        forward, level = source.layer < target.layer, source.layer == target.layer
        leave, arrive = ("right", "right" if level else "left") if forward or level else ("left", "right")
        loop = 0.5 if source is target else 0.0
        sides.setdefault((edge.source, leave), []).append((_middle(target) - loop, index, "source"))
        sides.setdefault((edge.target, arrive), []).append((_middle(source) + loop, index, "target"))
    for (state, _), ends in sides.items():
        place = canvas.plan.places[state]
        for number, (_, index, end) in enumerate(sorted(ends)):
            canvas.ports[index, end] = place.y + place.high * (number + 1) / (len(ends) + 1)


def _middle(place: Place) -> float:
    return place.y + place.high / 2


def _curves(canvas: _Canvas, index: int, edge: Edge) -> list[Curve]:
    """The way from a state to another, in one curve for each gap between layers that it crosses."""
    source, target = canvas.plan.places[edge.source], canvas.plan.places[edge.target]
    y1, y2 = canvas.ports[index, "source"], canvas.ports[index, "target"]
    if source.layer == target.layer:
        x = source.x + source.wide
        out = x + swing(_distance(canvas, source, target)) * 4 / 3
        return [((x, y1), (out, y1), (out, y2), (x, y2))]
    if source.layer > target.layer:
        return [_bend((source.x, y1), (target.x + target.wide, y2))]
    stops = [(source.x + source.wide, y1)]
    curves = []
    for layer in range(source.layer + 1, target.layer):
        lane = canvas.plan.lanes[index, layer]
        column = max(p.wide for p in canvas.plan.places.values() if p.layer == layer)
        curves += [_bend(stops[-1], (lane.x, _middle(lane)))]
        stops.append((lane.x + column, _middle(lane)))
        curves += [_bend((lane.x, _middle(lane)), stops[-1])]
    return [*curves, _bend(stops[-1], (target.x, y2))]


def _bend(start: Point, end: Point) -> Curve:
    middle = (start[0] + end[0]) / 2
    return start, (middle, start[1]), (middle, end[1]), end


def _distance(canvas: _Canvas, source: Place, target: Place) -> int:
    low, high = sorted((source.y, target.y))
    return sum(p.layer == source.layer and low < p.y <= high for p in canvas.plan.places.values())


def _way(canvas: _Canvas, edge: Edge, curves: list[Curve]) -> str:
    bad = "bad" if canvas.plan.places[edge.target].node in [n for n in canvas.graph.nodes if n.broken] else ""
    (x1, y1), *_ = curves[0]
    data = f"M{x1:.1f} {y1:.1f}" + "".join("C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in curve[1:]) for curve in curves)
    thick = round(1.2 + min(2.0, math.log2(max(1, edge.count)) * 0.45), 1)
    hint = element("title", escape(f"{edge.source} to {edge.target}: {edge.words or 'one way'}"))
    line = element("path", d=data, cls=f"lk-way{bad}", stroke_width=thick)
    return element("g", hint + line + _tip(curves[-1], bad))


def _tip(curve: Curve, bad: str) -> str:
    """An arrow at the end of a curve."""
    (x, y), (from_x, _) = curve[3], curve[2]
    back = 8 if from_x > x else -8
    return element("path", d=f"M{x:.1f} {y:.1f}L{x + back:.1f} {y - 4:.1f}V{y + 4:.1f}Z", cls=f"lk-arrow{bad}")


def _state(canvas: _Canvas, place: Place) -> str:
    node = place.node
    assert node is not None
    cls = "lk-bad" if node.broken else "lk-end" if node.final else "lk-state"
    parts = [element("title", escape(f"{node.id}: {node.text}")), _frame(place, 0, cls)]
    if node.final:
        parts.append(_frame(place, 3.5, "lk-innerbad" if node.broken else "lk-inner"))
    head = head_of(canvas.graph, node)
    parts.append(words(place.x + 11, place.y + 19, head, "lk-headbad" if node.broken else "lk-head"))
    parts += [words(place.x + 11, place.y + 33.5 + i * LEAD, line) for i, line in enumerate(place.lines)]
    return element("g", "".join(parts))


def _frame(place: Place, inset: float, cls: str) -> str:
    x, y, wide, high = place.x + inset, place.y + inset, place.wide - 2 * inset, place.high - 2 * inset
    return element("rect", x=x, y=y, width=wide, height=high, rx=7 - inset, cls=cls)


def _label(canvas: _Canvas, edge: Edge, curves: list[Curve]) -> None:
    """Write the label of a way where it covers neither a state nor another label."""
    shown = wrap(edge.words, 120, 1, 10)
    if not shown:
        return
    wide, high = label_width(edge) + 4, 12.0
    for at in AT_THE_END if sum(other.source == edge.source for other in canvas.graph.edges) > CROWD else ALONG:
        for curve in (curves[-1], curves[0]):
            x, y = _on(curve, at)
            # above the curve, below it, to its right, to its left
            for cx, cy in ((x, y - 10), (x, y + 10), (x + wide / 2 + 4, y), (x - wide / 2 - 4, y)):
                if _free(canvas, box := (cx - wide / 2, cy - high / 2, cx + wide / 2, cy + high / 2)):
                    canvas.taken.append(box)
                    canvas.drawn.append(words(cx, cy + 3.5, shown[0], "lk-edge", "middle"))
                    return


def _free(canvas: _Canvas, box: Box) -> bool:
    if box[0] < 0 or box[1] < 0 or box[2] > canvas.plan.wide or box[3] > canvas.plan.high:
        return False
    covers = any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in canvas.inked)
    return not covers and not any(_overlap(box, other) for other in canvas.taken)


def _on(curve: Curve, at: float) -> Point:
    """A point of a Bezier curve."""
    shares = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    return sum(s * p[0] for s, p in zip(shares, curve, strict=True)), sum(
        s * p[1] for s, p in zip(shares, curve, strict=True)
    )


def _overlap(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def _legend(graph: Graph) -> str:
    parts = [escape(graph.sum), "\u25b6 start", "\u25a0 final"]
    parts += ["\u2716 broken"] if any(node.broken for node in graph.nodes) else []
    return element("div", " &#160; ".join(parts), cls="lk-below")
