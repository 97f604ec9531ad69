"""The durable states that crashes leave, as a graph small enough to look at: what leads to what, and what is broken.

States stand in the order in which they were found, ends beside them. Equal graphs give equal bytes.

Not handled here: finding the states (see `sweep`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.faults.paint import cells, clean, crop
from labkit.plural import counted

WIDTH = 98


@dataclass(frozen=True)
class Node:
    """A durable state. `final` means that nothing is left to do in it."""

    id: str
    text: str = ""
    broken: bool = False
    final: bool = False


@dataclass(frozen=True)
class Edge:
    """A way from one state to another; `count` says how many crash points take it."""

    source: str
    target: str
    label: str = ""
    count: int = 1

    @property
    def words(self) -> str:
        return clean(f"{self.label} \N{MULTIPLICATION SIGN}{self.count}" if self.count > 1 else self.label)


@dataclass(frozen=True)
class Graph:
    """States and the ways between them; the first state is where it begins."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def sum(self) -> str:
        """What there is, in words."""
        broken, ends = sum(node.broken for node in self.nodes), sum(node.final for node in self.nodes)
        counts = [(len(self.nodes) - ends, "state"), (ends, "end"), (len(self.edges), "way")]
        told = ", ".join(counted(count, thing) for count, thing in counts if count or thing != "end")
        return f"{told}, {broken or 'none'} broken"

    def __repr__(self) -> str:
        rows = [self.sum]
        wide = min(16, max((cells(clean(node.id)) for node in self.nodes), default=0))
        for index, node in enumerate(self.nodes):
            sign = "\u2716" if node.broken else "\u25a0" if node.final else "\u25b6" if index == 0 else "\u25cb"
            notes = [word for word, yes in (("broken", node.broken), ("final", node.final)) if yes]
            name = crop(clean(node.id), wide)
            tail = f"  ({', '.join(notes)})" if notes else ""
            rows.append(crop(f"{sign} {name}{' ' * (wide - cells(name))}  {clean(node.text)}{tail}", WIDTH))
            rows += [_way(edge) for edge in self.edges if edge.source == node.id]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        from labkit.faults.graph_svg import drawn  # only where somebody looks

        return drawn(self)


def graph(nodes: Iterable[tuple[str, str, bool, bool]], edges: Iterable[tuple[str, str, str, int]]) -> Graph:
    """The graph of (id, text, broken, final) and (source, target, label, count).

    The first node is the start. An edge from or to a state that is not there is a ValueError.
    """
    states, ways = tuple(Node(*node) for node in nodes), tuple(Edge(*edge) for edge in edges)
    known = {node.id for node in states}
    for edge in ways:
        if not {edge.source, edge.target} <= known:
            raise ValueError(f"edge {edge.source!r} -> {edge.target!r} names a state that is not in the graph")
    return Graph(states, ways)


def _way(edge: Edge) -> str:
    words = f" {edge.words} \u2500" if edge.words else ""
    return crop(f"    \u2514\u2500{words}\u25b6 {clean(edge.target)}", WIDTH)
