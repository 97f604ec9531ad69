"""Layers and places for a small graph: breadth first from the left, ends on the right, equal graphs at equal pixels.

Not handled here: drawing (see `graph_svg`), and graphs of more than some twenty states, which get tall.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from labkit.faults.graph import Edge, Graph, Node
from labkit.faults.paint import width, wrap

TEXT = 150.0  # pixels of a line in a state
LEAD = 14.0
GAP = 16.0  # between states of one layer
REACH, MOST_REACH = 15.0, 130.0  # how far a way within a layer swings out, for each state that it passes
BETWEEN = 104.0  # between layers, without those
MARGIN = 14.0


@dataclass(frozen=True)
class Place:
    """Where a state stands, and the lines in it; without a node it is a lane for a way that passes by."""

    node: Node | None
    layer: int
    x: float
    y: float
    wide: float
    high: float
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All places by the state's id; `lanes` are those of edges that pass a layer."""

    places: dict[str, Place]
    lanes: dict[tuple[int, int], Place]  # (edge, layer)
    wide: float
    high: float


def plan(graph: Graph) -> Plan:
    """Where everything stands."""
    layers = layers_of(graph)
    columns = _columns(graph, layers)
    reach = _reach(graph, layers, columns)
    heights = [sum(_high(graph, item) + GAP for item in column) - GAP for column in columns]
    tallest = max(heights, default=0.0)
    found = Plan({}, {}, 0.0, 0.0)
    x = MARGIN
    for index, column in enumerate(columns):
        wide = max((_wide(graph, item) for item in column), default=0.0)
        y = MARGIN + (tallest - heights[index]) / 2
        for item in column:
            high = _high(graph, item)
            _put(found, graph, item, index, (x, y, wide, high))
            y += high + GAP
        x += wide + (BETWEEN if index < len(columns) - 1 else 0.0) + reach[index]
    return Plan(found.places, found.lanes, x + MARGIN, tallest + 2 * MARGIN)


def layers_of(graph: Graph) -> dict[str, int]:
    """State -> layer. Ends stand behind all others; what nothing leads to stands in front."""
    layer: dict[str, int] = {}
    for root in graph.nodes:
        if root.id not in layer and (not layer or not _led_to(graph, root.id)):
            _spread(graph, root.id, layer)
    for root in graph.nodes:
        if root.id not in layer:
            _spread(graph, root.id, layer)
    moving = [layer[node.id] for node in graph.nodes if not node.final or layer[node.id] == 0]
    for node in graph.nodes:
        if node.final and layer[node.id] > 0:
            layer[node.id] = max(moving, default=0) + 1
    return layer


def _led_to(graph: Graph, state: str) -> bool:
    return any(edge.target == state != edge.source for edge in graph.edges)


def _spread(graph: Graph, root: str, layer: dict[str, int]) -> None:
    layer[root] = 0
    waiting = deque([root])
    while waiting:
        state = waiting.popleft()
        for edge in graph.edges:
            if edge.source == state and edge.target not in layer:
                layer[edge.target] = layer[state] + 1
                waiting.append(edge.target)


Item = str | tuple[int, int]  # a state, or (edge, layer) for a way that passes


def _columns(graph: Graph, layers: dict[str, int]) -> list[list[Item]]:
    """The states of each layer from top to bottom, near the states that lead to them; ways that pass go above."""
    columns: list[list[Item]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for index, edge in enumerate(graph.edges):
        for between in range(layers[edge.source] + 1, layers[edge.target]):
            columns[between].append((index, between))
    height: dict[Item, float] = {}
    for number, column in enumerate(columns):
        column += [node.id for node in graph.nodes if layers[node.id] == number]
        pulls = {item: _pull(graph, item, height) for item in column}
        column.sort(key=pulls.__getitem__)
        height |= {item: (place + 0.5) / len(column) for place, item in enumerate(column)}
    return columns


def _pull(graph: Graph, item: Item, height: dict[Item, float]) -> float:
    """The middle of what leads here from earlier layers, between 0 at the top and 1."""
    places: list[float] = []
    for index, edge in enumerate(graph.edges):
        if (isinstance(item, tuple) and item[0] == index) or item == edge.target:
            lanes = [place for key, place in height.items() if isinstance(key, tuple) and key[0] == index]
            places += lanes[-1:] or ([height[edge.source]] if edge.source in height else [])
    return sum(places) / len(places) if places else 0.5


def _reach(graph: Graph, layers: dict[str, int], columns: list[list[Item]]) -> list[float]:
    """How far the ways within each layer swing out to its right."""
    reach = [0.0] * len(columns)
    for edge in graph.edges:
        layer = layers[edge.source]
        if layer == layers[edge.target]:
            distance = abs(columns[layer].index(edge.source) - columns[layer].index(edge.target))
            reach[layer] = max(reach[layer], swing(distance) + label_width(edge) + 6)
    return reach


def swing(distance: int) -> float:
    """How far a way to a state `distance` places away in the same layer swings out."""
    return min(MOST_REACH, 12 + REACH * max(1, distance))


def label_width(edge: Edge) -> float:
    return min(120.0, width(edge.words, 10))


def lines_of(node: Node) -> tuple[str, ...]:
    """The words in a state."""
    return tuple(wrap(node.text, TEXT, 3))


def head_of(graph: Graph, node: Node) -> str:
    """The first line in a state: its name, and what it is."""
    notes = [word for word, yes in (("broken", node.broken), ("final", node.final)) if yes]
    sign = "\u2716 " if node.broken else "\u25a0 " if node.final else "\u25b6 " if node == graph.nodes[0] else ""
    return sign + " \N{MIDDLE DOT} ".join([*wrap(node.id, 90, 1), *notes])


def _node(graph: Graph, item: Item) -> Node | None:
    return next((node for node in graph.nodes if node.id == item), None)


def _high(graph: Graph, item: Item) -> float:
    node = _node(graph, item)
    return 10.0 if node is None else 28.0 + LEAD * len(lines_of(node))


def _wide(graph: Graph, item: Item) -> float:
    node = _node(graph, item)
    if node is None:
        return 0.0
    return max(width(head_of(graph, node), 11, bold=True), *(width(line) for line in lines_of(node)), 60.0) + 22


def _put(found: Plan, graph: Graph, item: Item, layer: int, spot: tuple[float, float, float, float]) -> None:
    node = _node(graph, item)
    place = Place(node, layer, *spot, lines_of(node) if node else ())
    if isinstance(item, str):
        found.places[item] = place
    else:
        found.lanes[item] = place
