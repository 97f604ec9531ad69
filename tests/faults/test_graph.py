"""The graph of durable states: layers by the number of crashes, no overlaps, the same picture every time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from labkit.faults.graph import Graph, graph
from labkit.faults.graph_layout import layers_of, plan
from labkit.faults.paint import cells
from tests.faults.boxes import overlaps

NODES = [
    ("s1", "pending", False, False),
    ("s2", "running, nothing deployed", False, False),
    ("s3", "running, one container, no record of it", False, False),
    ("s4", "completed", False, True),
    ("s5", "running, two containers", True, False),
    ("s6", "completed, two containers", True, True),
]
EDGES = [
    ("s1", "s1", "crash", 6),
    ("s1", "s2", "crash", 2),
    ("s1", "s3", "crash", 5),
    ("s1", "s4", "", 1),
    ("s2", "s2", "crash", 7),
    ("s2", "s3", "crash", 5),
    ("s2", "s4", "", 1),
    ("s3", "s5", "crash", 5),
    ("s3", "s6", "", 1),
    ("s5", "s2", "odd", 1),
    ("s5", "s6", "", 1),
]


def small() -> Graph:
    return graph(NODES, EDGES)


def big() -> Graph:
    """Twenty states, most of them one crash away, as a saga leaves them."""
    nodes = [(f"s{i}", f"running, step {i} of the deployment", i == 8, i > 18) for i in range(1, 21)]
    edges = [("s1", f"s{i}", "crash", i) for i in range(2, 16)] + [
        (f"s{i}", f"s{i + 1}", "crash", 2) for i in range(2, 20)
    ]
    return graph(nodes, [*edges, ("s1", "s20", "no crash", 1), ("s9", "s9", "crash", 3)])


both = pytest.mark.parametrize("made", [small(), big()], ids=["small", "big"])


def drawing(made: Graph) -> ElementTree.Element:
    found = ElementTree.fromstring(made._repr_html_()).find(".//svg")
    assert found is not None
    return found


def test_states_stand_in_layers_by_crashes_and_ends_come_last() -> None:
    """Breadth first from the first state; what is final stands behind all others."""
    assert layers_of(small()) == {"s1": 0, "s2": 1, "s3": 1, "s4": 3, "s5": 2, "s6": 3}


@both
def test_no_states_and_no_texts_overlap(made: Graph) -> None:
    """Each state has its place, and a label is drawn only where there is room."""
    places = list(plan(made).places.values())
    for index, one in enumerate(places):
        for two in places[index + 1 :]:
            apart = one.x + one.wide <= two.x or two.x + two.wide <= one.x
            assert apart or one.y + one.high <= two.y or two.y + two.high <= one.y
    assert overlaps(drawing(made)) == []


@both
def test_every_way_is_drawn_and_hinted(made: Graph) -> None:
    """One curve for each edge, with its words on pointing."""
    ways = [node for node in drawing(made).iter("path") if "lk-way" in node.get("class", "")]
    assert len(ways) == len(made.edges)
    hints = [node.text for node in drawing(made).iter("title")]
    assert all(f"{edge.source} to {edge.target}: {edge.words or 'one way'}" in hints for edge in made.edges)


@both
def test_equal_graphs_give_equal_bytes(made: Graph) -> None:
    """The layout depends on nothing but the graph."""
    assert made._repr_html_() == Graph(made.nodes, made.edges)._repr_html_()


def test_broken_and_final_are_said_in_words() -> None:
    """Neither needs colour, in the drawing or in the text."""
    said = [node.text for node in drawing(small()).iter("text")]
    assert "✖ s6 · broken · final" in said
    assert "■ s4 · final" in said
    rows = repr(small()).splitlines()
    assert rows[0] == "6 states, 11 ways between them, 2 broken"
    assert "✖ s6  completed, two containers  (broken, final)" in rows
    assert "    └─ crash \N{MULTIPLICATION SIGN}5 ─▶ s5" in rows
    assert max(map(cells, rows)) < 100


def test_descriptions_are_escaped() -> None:
    """Markup in ids, descriptions and labels stays text."""
    made = graph([("<b>", "<script>", False, False)], [("<b>", "<b>", "</svg>", 1)])
    assert {"script", "b"}.isdisjoint(node.tag for node in drawing(made).iter())


def test_unknown_states_are_refused() -> None:
    """An edge must lead from one of the states to another."""
    with pytest.raises(ValueError, match="'s9'"):
        graph(NODES, [("s1", "s9", "", 1)])


def test_an_empty_graph_draws() -> None:
    """No states is a graph, too."""
    assert drawing(graph([], [])) is not None
