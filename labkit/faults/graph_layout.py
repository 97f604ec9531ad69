"""Places for a small graph: states under each other, ends beside them, and a rail of its own for whatever leads somewhere.

A way leaves its state, follows a rail straight up or down and enters the other state, like a line in a circuit: ways cross
at right angles or not at all, no two enter a state at one point, and each has room for its words. Equal graphs stand at
equal pixels.

Not handled here: drawing (see `graph_svg`), and graphs of more than some twenty states, which get tall.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.faults.graph import Edge, Graph, Node
from labkit.faults.paint import width, wrap

TEXT = 150.0  # pixels of a line in a state
LEAD = 14.0
PITCH = 14.0  # between ways at the side of a state: room for one line of words
GAP = 14.0  # between states
RAIL = 14.0  # between rails
MARGIN = 10.0

Rail = tuple[str, str]  # (zone, state): among states, to the ends, among ends
Port = tuple[str, str, Rail, str, str]  # (state, side, rail, in or out, words)


@dataclass(frozen=True)
class Place:
    """Where a state stands, and the lines in it."""

    node: Node
    x: float
    y: float
    wide: float
    high: float
    lines: tuple[str, ...] = ()


@dataclass
class Plan:
    """All places by the state's id; `rails` are the x of each rail, `ports` the y of each end of a way."""

    places: dict[str, Place] = field(default_factory=dict)
    rails: dict[Rail, float] = field(default_factory=dict)
    ports: dict[Port, float] = field(default_factory=dict)
    wide: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Way:
    """An edge with the rail that it follows and the ports between which it runs."""

    edge: Edge
    rail: Rail
    leaves: Port
    arrives: Port

    @property
    def labelled(self) -> Port:
        """The end at which no other way runs along, so that the words can stand there."""
        return self.leaves if self.rail == ("out", self.edge.target) else self.arrives


def ways_of(graph: Graph) -> list[Way]:
    """The way of each edge."""
    final = {node.id: node.final for node in graph.nodes}
    found = []
    for edge in graph.edges:
        source, target, words = edge.source, edge.target, edge.words
        if final[source] == final[target]:
            rail, sides = ("ends" if final[source] else "states", source), ("right", "right")
            shared = (True, False)
        else:
            rail = ("out", source if final[source] else target)
            sides = ("left", "right") if final[source] else ("right", "left")
            shared = (final[source], final[target])
        leaves = (source, sides[0], rail, "out", "" if shared[0] else words)
        arrives = (target, sides[1], rail, "in", "" if shared[1] else words)
        found.append(Way(edge, rail, leaves, arrives))
    return found


def plan(graph: Graph) -> Plan:
    """Where everything stands."""
    ways, made = ways_of(graph), Plan()
    states = [node for node in graph.nodes if not node.final]
    ends = [node for node in graph.nodes if node.final]
    room = max((width(way.edge.words, 10) for way in ways), default=0.0) + 22
    left = max(map(_wide, states), default=0.0)
    x = MARGIN + left + room
    x = _rails(made, graph, ways, "states", x)
    x = _rails(made, graph, ways, "out", x + (RAIL if ends else 0))
    beside, right = x + (12 if ends else 0), max(map(_wide, ends), default=0.0)
    x = _rails(made, graph, ways, "ends", beside + right + room)
    last = x if any(way.rail[0] == "ends" for way in ways) else beside + right
    tall = _column(made, states, ways, MARGIN, left), _column(made, ends, ways, beside, right)
    made.wide, made.high = last + MARGIN, max(tall) + MARGIN
    _ports(made, ways)
    return made


def _rails(made: Plan, graph: Graph, ways: list[Way], zone: str, x: float) -> float:
    """Put the rails of a zone beside each other, what reaches farther to the right; returns what is free behind them."""
    order = [node.id for node in graph.nodes]
    reach: dict[Rail, int] = {}
    for way in ways:
        if way.rail[0] == zone:
            far = abs(order.index(way.edge.source) - order.index(way.edge.target))
            reach[way.rail] = max(reach.get(way.rail, 0), far)
    for rail in sorted(reach, key=lambda one: (reach[one], -order.index(one[1]))):
        made.rails[rail] = x
        x += RAIL
    return x


def _column(made: Plan, nodes: list[Node], ways: list[Way], x: float, wide: float) -> float:
    """Put states under each other, each high enough for its words and its ways; returns where they end."""
    y = MARGIN
    for node in nodes:
        lines = lines_of(node)
        ends = {port for way in ways for port in (way.leaves, way.arrives) if port[0] == node.id}
        most = max(sum(port[1] == side for port in ends) for side in ("left", "right")) if ends else 0
        high = max(28 + LEAD * len(lines), PITCH * most + 10)
        made.places[node.id] = Place(node, x, y, wide, high, lines)
        y += high + GAP
    return y - GAP if nodes else y


def _ports(made: Plan, ways: list[Way]) -> None:
    """Spread the ends of the ways over the sides of the states, so that as few as possible cross."""
    sides: dict[tuple[str, str], dict[Port, tuple[int, float]]] = {}
    for way in ways:
        up = made.places[way.edge.source].y < made.places[way.edge.target].y
        rank = 0 if up else 2
        sides.setdefault(way.arrives[:2], {})[way.arrives] = (rank, made.rails[way.rail])
        out = 3 if way.rail[0] == "out" else 1
        sides.setdefault(way.leaves[:2], {})[way.leaves] = (out, made.rails[way.rail])
    for (state, _), ends in sides.items():
        place = made.places[state]
        first = place.y + (place.high - PITCH * (len(ends) - 1)) / 2 + 2
        for number, port in enumerate(sorted(ends, key=lambda one: (ends[one], one[4]))):
            made.ports[port] = first + number * PITCH


def lines_of(node: Node) -> tuple[str, ...]:
    """The words in a state."""
    return tuple(wrap(node.text, TEXT, 4))


def head_of(graph: Graph, node: Node) -> str:
    """The first line in a state: its name, and what it is."""
    notes = [word for word, yes in (("broken", node.broken), ("final", node.final)) if yes]
    sign = "\u2716 " if node.broken else "\u25a0 " if node.final else "\u25b6 " if node == graph.nodes[0] else ""
    return sign + " \N{MIDDLE DOT} ".join([*wrap(node.id, 90, 1), *notes])


def _wide(node: Node) -> float:
    notes = " \u2716 " + node.id + " \N{MIDDLE DOT} broken" * node.broken + " \N{MIDDLE DOT} final" * node.final
    return max(width(notes, 11, bold=True), *(width(line) for line in lines_of(node)), 60.0) + 22
