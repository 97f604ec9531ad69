"""The graph of durable states: nothing overlaps, every way can be followed, the same picture every time."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from labkit.faults.graph import Graph, graph
from labkit.faults.graph_layout import plan, ways_of
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


def test_states_stand_under_each_other_and_ends_beside_them() -> None:
    """In the order in which they were found."""
    places = plan(small()).places
    states, ends = ([places[name] for name in names] for names in (("s1", "s2", "s3", "s5"), ("s4", "s6")))
    for column in (states, ends):
        assert len({place.x for place in column}) == 1
        assert [place.y for place in column] == sorted(place.y for place in column)
    assert max(place.x + place.wide for place in states) < min(place.x for place in ends)


@both
def test_no_two_ways_share_a_point_at_a_state_or_a_rail(made: Graph) -> None:
    """Each way that has words has an end for itself, rails keep apart, and all ends lie at their states."""
    found = plan(made)
    named = [way.labelled for way in ways_of(made)]
    assert len(set(named)) == len(made.edges)
    for state in found.places.values():
        for side in ("left", "right"):
            ys = sorted(y for port, y in found.ports.items() if port[:2] == (state.node.id, side))
            assert all(later - earlier >= 13 for earlier, later in pairwise(ys))
            assert all(state.y < y < state.y + state.high for y in ys)
    xs = sorted(found.rails.values())
    assert all(later - earlier >= 13 for earlier, later in pairwise(xs))


@both
def test_the_words_of_every_way_are_drawn(made: Graph) -> None:
    """None is left to the hint."""
    said = [node.text for node in drawing(made).iter("text") if node.get("class") == "lk-edge"]
    assert sorted(filter(None, said)) == sorted(edge.words for edge in made.edges if edge.words)


@both
def test_no_states_and_no_texts_overlap(made: Graph) -> None:
    """Each state has its place, and so has each label."""
    places = list(plan(made).places.values())
    for index, one in enumerate(places):
        for two in places[index + 1 :]:
            apart = one.x + one.wide <= two.x or two.x + two.wide <= one.x
            assert apart or one.y + one.high <= two.y or two.y + two.high <= one.y
    assert overlaps(drawing(made)) == []


@both
def test_every_way_is_drawn_and_hinted(made: Graph) -> None:
    """One line for each edge, with its words on pointing."""
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
    assert rows[0] == "4 states, 2 ends, 11 ways, 2 broken"
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
