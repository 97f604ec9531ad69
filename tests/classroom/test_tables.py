"""The gradebook's files: what other programs read is whole, in order, and nothing in it can act."""

import csv
import io
import json
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from labkit.checks.judge import BROKEN, HOLDS
from labkit.classroom import tables
from labkit.classroom.gradebook import Entry
from labkit.classroom.submission import Flag
from tests.classroom.books import book, settled


def rows(made):
    return list(csv.reader(io.StringIO(tables.grades(made).decode())))


def example():
    return book(ann=[settled(HOLDS), Entry("claim", 15)], bob=[settled(BROKEN, HOLDS), Entry("claim", 15)])


def test_grades():
    """One row per learner, one column per exercise, the sum and what there could be."""
    assert rows(example()) == [
        ["learner", "retry", "claim", "total", "max", "flags"],
        ["ann", "8", "0", "8", "23", ""],
        ["bob", "4", "0", "4", "23", ""],
    ]


def test_flags_name_their_exercise():
    """An instructor sees in the table where to look, and each kind once."""
    made = example()
    made.rows[0].flags = [Flag("unreadable", "x.ipynb is not JSON")]
    made.rows[0].entries["retry"].flags = [Flag("copied", "two cells"), Flag("copied", "three cells")]
    made.rows[1].entries["claim"].state = "timeout"
    assert [row[-1] for row in rows(made)[1:]] == ["unreadable; retry: copied", "claim: timeout"]


@given(st.text(min_size=1).filter(lambda name: name.strip()))
def test_no_name_becomes_a_formula_or_a_line(name):
    """Whatever a learner is called, the table has one more row of six cells, and a spreadsheet sees a text."""
    table = rows(book(**{name: [settled(HOLDS), Entry("claim", 15)]}))
    assert len(table) == 2
    assert len(table[1]) == 6
    assert not table[1][0].startswith(("=", "+", "-", "@"))


def test_details_have_a_line_for_each_answer():
    """Each learner and exercise once, with each property, and how it was graded."""
    lines = [json.loads(line) for line in tables.details(example()).splitlines()]
    assert [(line["learner"], line["exercise"]) for line in lines] == [("ann", "retry"), ("ann", "claim"), ("bob", "retry"), ("bob", "claim")]
    assert lines[2]["properties"][0]["diagnosis"] == "forgets one"
    assert lines[2]["databases"] == ["sqlite"]
    assert lines[0]["seed"] == "1"
    assert "picture" not in lines[0]


def test_gradescope():
    """Gradescope's results: a score for each exercise, and their sum."""
    data = json.loads(tables.gradescope(example().rows[1]))
    assert data["score"] == 4
    assert [(one["name"], one["score"], one["max_score"], one["status"]) for one in data["tests"]] == [
        ("retry", 4, 8, "failed"),
        ("claim", 0, 15, "failed"),
    ]


@given(st.text(), st.text())
def test_junit_is_always_xml(name, reason):
    """No name and no reason breaks the file."""
    made = book(**{name or "x": [settled(BROKEN), Entry("claim", 15)]})
    made.rows[0].entries["claim"].reason = reason
    suite = ElementTree.fromstring(tables.junit(made)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped"), suite.get("errors")) == ("2", "1", "1", "0")


def test_equal_books_give_equal_bytes():
    """Nothing of the moment is in the files."""
    for made in (tables.grades, tables.details, tables.junit):
        assert made(example()) == made(example())
