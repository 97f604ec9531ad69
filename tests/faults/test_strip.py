"""The strip of crash points: one cell a point, readable without colour."""

from __future__ import annotations

from xml.etree import ElementTree

from labkit.faults.paint import cells
from labkit.faults.strip import Strip, strip

WHY = "deploy_container <shop> was done 2 times"


def points(count: int, *broken: int) -> list[tuple[str, str, str]]:
    sides = [f"{number}.{side}" for number in range(1, count) for side in ("before", "after")]
    found = [(f"demo/sqlite:p1@{side}+crash", "holds", "") for side in sides[:count]]
    return [
        (token, "broken", WHY) if index in broken else (token, verdict, why)
        for index, (token, verdict, why) in enumerate(found)
    ]


def both() -> Strip:
    return strip(
        [
            ("naive", points(9, 5, 6)),
            ("fixed", points(9)),
            ("does nothing", [("demo:p1@1.before+crash", "not_exercised", "")]),
        ]
    )


def drawn(made: Strip) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(made._repr_html_())
    return [node for node in root.iter() if "lk-cell " in node.get("class", "")]


def test_text_shows_each_verdict_by_its_sign() -> None:
    """Dots hold, crosses are broken, question marks were not exercised."""
    rows = repr(both()).splitlines()
    assert rows[0] == "naive         .....XX..  2 of 9 broken"
    assert rows[1].strip().startswith("first broken: demo/sqlite:p1@3.after+crash")
    assert rows[2] == "fixed         .........  all 9 hold"
    assert rows[3] == "does nothing  ?  1 not exercised"


def test_cells_differ_without_colour_and_name_crossing_token_and_reason() -> None:
    """Each cell has a sign of its own and a hint."""
    found = drawn(both())
    assert len(found) == 19
    assert [node.text for node in found[4:7]] == ["·", "✕", "✕"]
    assert found[5].get("title") == f"p1@3.after+crash | broken | {WHY} | demo/sqlite:p1@3.after+crash"


def test_the_sides_of_a_call_stand_together() -> None:
    """A gap follows the after side of each call, and only that."""
    for fault in ("late(2.5)", "crash~5e1"):
        points_of_a_call = [(f"demo/sqlite:p1@7.{side}+{fault}", "holds", "") for side in ("before", "after")]
        assert len({cell.call for cell in strip([("", points_of_a_call)]).rows[0].cells}) == 1
    gaps = ["lk-gap" in node.get("class", "") for node in drawn(strip([("", points(6))]))]
    assert gaps == [False, True, False, True, False, False]


def test_words_of_learners_stay_words() -> None:
    """Labels, tokens and reasons are escaped."""
    made = strip([("<script>", [("<b>", "broken", "<i>&")])])
    assert drawn(made)[0].get("title") == "<b> | broken | <i>&"
    assert "<script>" not in made._repr_html_()


def test_long_strips_wrap() -> None:
    """No line of the text reaches a hundred cells, and no point is lost."""
    shown = repr(strip([("a long one", points(250, 77))]))
    assert max(map(cells, shown.splitlines())) < 100
    head = shown.split("first broken")[0]
    assert head.count(".") + head.count("X") == 250


def test_a_narrow_page_keeps_the_cells_in_line() -> None:
    """The region scrolls, cells neither wrap nor shrink, and words move above them where there is little room."""
    page = both()._repr_html_()
    region = next(node for node in ElementTree.fromstring(page).iter("div") if node.get("class") == "lk-scroll")
    assert region.get("tabindex") == "0"
    assert "flex-wrap" not in page
    assert "@container (max-width:" in page


def test_the_legend_says_what_a_cell_is() -> None:
    """A side of a call, unless somebody strips something else."""
    assert "a cell is one side of a call" in both()._repr_html_()
    assert "a cell is one &lt;step&gt;" in strip([("a", points(3))], each="a cell is one <step>")._repr_html_()


def test_a_long_reason_has_a_line_of_its_own() -> None:
    """It is told whole, without the token before it."""
    rows = repr(strip([("a", [("demo/sqlite:" + "p1@7.after+crash," * 4, "broken", "why " * 12)])])).splitlines()
    assert [row.strip() for row in rows[2:]] == [("why " * 12).strip()]


def test_equal_strips_give_equal_bytes() -> None:
    """Nothing of the machine is in it, and nothing at all is fine too."""
    assert both()._repr_html_() == both()._repr_html_()
    assert repr(strip([("empty", [])])) == "empty    no crash points"
