"""Draws a graph of states: boxes, ways as arrows on rails, a thick frame around what is broken, a double one at ends.

Ways cross at right angles and join at dots. Each has its words beside it, and a hint on pointing.

Not handled here: places (see `graph_layout`).
"""

from __future__ import annotations

import math

from labkit.faults.graph import Graph
from labkit.faults.graph_layout import LEAD, Place, Plan, Port, Way, head_of, plan, ways_of
from labkit.faults.paint import BASE_STYLE, element, escape, rule, scaled, scroll, words

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk .lk-state", "fill:currentColor;fill-opacity:.045;stroke:currentColor;stroke-opacity:.45"),
        rule(".lk .lk-end", "fill@green;fill-opacity:.12;stroke@green;stroke-width:1.5"),
        rule(".lk .lk-inner", "fill:none;stroke@green"),
        rule(".lk .lk-innerbad", "fill:none;stroke@red"),
        rule(".lk .lk-bad", "fill@red;fill-opacity:.12;stroke@red;stroke-width:3"),
        rule(".lk .lk-head", "font-weight:600"),
        rule(".lk .lk-headbad", "font-weight:600;fill@red"),
        rule(".lk .lk-way", "fill:none;stroke:currentColor;stroke-opacity:.5;stroke-linejoin:round"),
        rule(".lk .lk-waybad", "fill:none;stroke@red;stroke-opacity:.75;stroke-dasharray:6 3"),
        rule(".lk .lk-arrow", "fill:currentColor;fill-opacity:.6"),
        rule(".lk .lk-arrowbad", "fill@red"),
        rule(".lk .lk-join", "fill:currentColor"),
        rule(".lk .lk-edge", "font-size:10px;fill-opacity:.8"),
    ]
)


def drawn(graph: Graph) -> str:
    """The graph as a fragment of HTML."""
    made, ways = plan(graph), ways_of(graph)
    parts = [_way(made, way) for way in ways] + _joins(made, ways)
    parts += [_state(graph, place) for place in made.places.values()]
    parts += [_label(made, way) for way in ways if way.edge.words]
    svg = scroll(_svg(graph, made, "".join(parts)), "Durable states")
    return element("div", f"<style>{STYLE}</style>{svg}{_legend(graph)}", cls="lk lk-graph")


def _svg(graph: Graph, made: Plan, body: str) -> str:
    wide, high = math.ceil(made.wide), math.ceil(made.high)
    names = element("title", f"Durable states: {escape(graph.sum)}") + element("desc", escape(repr(graph)))
    box = f"0 0 {wide} {high}"
    return element("svg", names + body, viewBox=box, width=wide, height=high, role="img", style=scaled(wide))


def _at(made: Plan, port: Port) -> tuple[float, float]:
    place = made.places[port[0]]
    return place.x + (place.wide if port[1] == "right" else 0.0), made.ports[port]


def _way(made: Plan, way: Way) -> str:
    """From a state along its rail to another, and an arrow there."""
    edge, rail = way.edge, made.rails[way.rail]
    (x1, y1), (x2, y2) = _at(made, way.leaves), _at(made, way.arrives)
    bad = "bad" if made.places[edge.target].node.broken else ""
    thick = round(1.2 + min(2.0, math.log2(max(1, edge.count)) * 0.45), 1)
    hint = element("title", escape(f"{edge.source} to {edge.target}: {edge.words or 'one way'}"))
    line = f"M{x1:.1f} {y1:.1f}H{rail:.1f}V{y2:.1f}H{x2:.1f}"
    back = 8 if way.arrives[1] == "right" else -8
    tip = f"M{x2:.1f} {y2:.1f}L{x2 + back:.1f} {y2 - 4:.1f}V{y2 + 4:.1f}Z"
    drawn = element("path", d=line, cls=f"lk-way{bad}", stroke_width=thick)
    return element("g", hint + drawn + element("path", d=tip, cls=f"lk-arrow{bad}"))


def _joins(made: Plan, ways: list[Way]) -> list[str]:
    """A dot where a way leaves or joins a rail that goes on."""
    dots = []
    for rail, x in made.rails.items():
        heights = {made.ports[port] for way in ways if way.rail == rail for port in (way.leaves, way.arrives)}
        inner = sorted(heights)[1:-1]
        dots += [element("circle", cx=x, cy=y, r=2.6, cls="lk-join") for y in inner]
    return dots


def _label(made: Plan, way: Way) -> str:
    """The words of a way, above the end that it has for itself."""
    x, y = _at(made, way.labelled)
    return words(x + 11, y - 3, way.edge.words, "lk-edge")


def _state(graph: Graph, place: Place) -> str:
    node = place.node
    cls = "lk-bad" if node.broken else "lk-end" if node.final else "lk-state"
    parts = [element("title", escape(f"{node.id}: {node.text}")), _frame(place, 0, cls)]
    if node.final:
        parts.append(_frame(place, 3.5, "lk-innerbad" if node.broken else "lk-inner"))
    head = head_of(graph, node)
    parts.append(words(place.x + 11, place.y + 19, head, "lk-headbad" if node.broken else "lk-head"))
    parts += [words(place.x + 11, place.y + 33.5 + i * LEAD, line) for i, line in enumerate(place.lines)]
    return element("g", "".join(parts))


def _frame(place: Place, inset: float, cls: str) -> str:
    x, y, wide, high = place.x + inset, place.y + inset, place.wide - 2 * inset, place.high - 2 * inset
    return element("rect", x=x, y=y, width=wide, height=high, rx=7 - inset, cls=cls)


def _legend(graph: Graph) -> str:
    parts = [escape(graph.sum), "\u25b6 start", "\u25a0 final"]
    parts += ["\u2716 broken"] if any(node.broken for node in graph.nodes) else []
    parts += ["an arrow enters a state; lines join only at dots"] if graph.edges else []
    return element("div", " &#160; ".join(parts), cls="lk-below")
