"""Histograms and tables: numbers are right, verdicts are readable without colour."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest

from labkit.faults.chart import Histogram, Table, bad, good, histogram, table, unknown
from labkit.faults.paint import cells
from tests.faults.boxes import boxes, overlaps


def clients() -> Histogram:
    """Two hundred clients that come back together, and not together."""
    rng = random.Random(7)
    return histogram(
        {"no jitter": [2.0] * 200, "jitter": [rng.uniform(0, 4) for _ in range(200)]}, title="back", limit=50
    )


def drawing(made: Histogram) -> ElementTree.Element:
    found = ElementTree.fromstring(made._repr_html_()).find(".//svg")
    assert found is not None
    return found


def test_every_value_is_counted_once_on_one_scale() -> None:
    """Both series keep their 200 clients, in the same bins."""
    made = clients()
    assert [sum(counts) for _, counts in made.series] == [200, 200]
    assert len({len(counts) for _, counts in made.series}) == 1
    assert made.step == 0.1


def test_an_edge_belongs_to_the_bin_that_begins_there() -> None:
    """Rounding in binary moves no value to its neighbour."""
    made = histogram({"a": [index / 10 for index in range(11)]}, bins=11)
    assert made.series == (("a", (1,) * 11),)


def test_the_peak_is_said_in_words() -> None:
    """How many at most, and when."""
    assert repr(clients()).splitlines()[1] == "no jitter: 200 in all, at most 200 within 0.1 s, from 2 s on"


def test_bars_over_the_limit_differ_and_texts_keep_apart() -> None:
    """The line of the limit has its number, and a bar that passes it has another colour."""
    root = drawing(clients())
    assert [node.get("class") for node in root.iter("rect")].count("lk-over") == 1
    assert [node.text for node in root.iter("text")].count("50") == 2
    assert overlaps(root) == []


def test_equal_data_gives_equal_bytes_and_labels_are_escaped() -> None:
    """The same numbers, the same picture."""
    assert clients()._repr_html_() == clients()._repr_html_()
    assert "<b>" not in histogram({"<b>": [1.0]}, title="<i>")._repr_html_()


def test_few_values_draw() -> None:
    """No series, no values, one value and equal values are all fine."""
    few: list[dict[str, list[float]]] = [{}, {"a": []}, {"a": [3.0]}, {"a": [0.0, 0.0], "b": []}, {"a": [-2.0, 5.0]}]
    for data in few:
        made = histogram(data)
        assert drawing(made) is not None
        assert sum(sum(counts) for _, counts in made.series) == sum(map(len, data.values()))


@pytest.mark.parametrize(
    ("value", "first", "last"), [(0.0, "0 s", "1.02 s"), (2.0, "0 s", "2.05 s"), (-3.0, "-3 s", "0.1 s")]
)
def test_equal_values_are_one_slim_bar_on_a_whole_axis(value: float, first: str, last: str) -> None:
    """The axis reaches from nothing to the value, and both its ends are written inside the picture."""
    root = drawing(histogram({"a": [value] * 5}))
    (bar,) = root.iter("rect")
    assert float(bar.get("width", "")) < 40
    ends = [node for node in root.iter("text") if node.text in (first, last)]
    assert [node.get("text-anchor") for node in ends] == [None, "end"]
    assert min(box[1] for box in boxes(root)) >= 0


def test_one_bin_has_both_ends_of_its_axis() -> None:
    """The word at the left edge begins there."""
    root = drawing(histogram({"a": [3.0]}, bins=1))
    assert [(node.text, node.get("text-anchor")) for node in root.iter("text")][-2:] == [("0 s", None), ("5 s", "end")]


def test_a_histogram_says_what_its_height_means() -> None:
    """The top of the plot has its number, and the words below say what a bar counts."""
    made = histogram({"a": [1.0] * 30})
    assert [node.text for node in drawing(made).iter("text")][2] == "30"
    assert "a bar counts what falls into" in made._repr_html_()


@pytest.mark.parametrize("made", [clients(), table(["a"], [["b"]])], ids=["histogram", "table"])
def test_what_is_wide_scrolls(made: Histogram | Table) -> None:
    """It stands in a region that scrolls by mouse and keys, and letters stay readable."""
    root = ElementTree.fromstring(made._repr_html_())
    region = next(node for node in root.iter("div") if node.get("class") == "lk-scroll")
    assert region.get("tabindex") == "0"
    assert all("min-width" in node.get("style", "") for node in root.iter("svg"))


def test_a_number_keeps_its_unit_and_a_short_cell_its_line() -> None:
    """On a page "5 s" is never broken, and only long texts wrap."""
    made = table(["", "took"], [["a", bad("fails after 5 s")], ["b", "1 min 30 s"]])
    assert "fails after 5\N{NO-BREAK SPACE}s" in made._repr_html_()
    assert "1\N{NO-BREAK SPACE}min 30\N{NO-BREAK SPACE}s" in made._repr_html_()
    assert "5 s" in repr(made)
    cells_of = {str(node.text): node.get("class", "") for node in ElementTree.fromstring(made._repr_html_()).iter("td")}
    assert "lk-long" not in cells_of["1\N{NO-BREAK SPACE}min 30\N{NO-BREAK SPACE}s"]


def test_table_cells_carry_sign_and_words() -> None:
    """Marks, bools and names of verdicts are told apart without colour."""
    made = table(
        ["store", "crash", "torn"], [["memory", bad("all lost"), unknown()], ["sql", True, "holds"]], "survives"
    )
    assert repr(made).splitlines() == [
        "survives",
        "store   crash       torn",
        "──────  ──────────  ───────────────",
        "memory  ✕ all lost  ? not exercised",
        "sql     ✓ yes       ✓ holds",
    ]
    root = ElementTree.fromstring(made._repr_html_())
    assert [node.get("class") for node in root.iter("td")] == ["lk-broken", "lk-not_exercised", "lk-holds", "lk-holds"]
    assert root.findtext(".//caption") == "survives"


def test_table_text_is_narrow_and_html_escaped() -> None:
    """Long cells wrap and are cropped at last; markup in cells stays text."""
    made = table(["a" * 80, "b"], [["<script>", good("<b>" + "x" * 200)]])
    assert max(map(cells, repr(made).splitlines())) < 100
    assert {"script"}.isdisjoint(node.tag for node in ElementTree.fromstring(made._repr_html_()).iter())
    assert made._repr_html_() == made._repr_html_()


def test_long_headers_and_cells_wrap_between_words() -> None:
    """No word is lost where lines can be added, and what follows a sign hangs behind it."""
    told = bad("told cancelled, and it is completed")
    headers = ["", "clicked twice", "two at once", "who came second", "cancelled meanwhile"]
    made = table(headers, [["leave a running task", *[told] * 4]])
    assert repr(made).splitlines() == [
        "                    clicked twice       two at once         who came second     cancelled",
        "                                                                                meanwhile",
        "──────────────────  ──────────────────  ──────────────────  ──────────────────  ──────────────────",
        "leave a running     ✕ told cancelled,   ✕ told cancelled,   ✕ told cancelled,   ✕ told cancelled,",
        "task                  and it is           and it is           and it is           and it is",
        "                      completed           completed           completed           completed",
    ]
