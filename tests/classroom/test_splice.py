"""The answer is found whatever a class does to its notebooks, and nothing but the answer comes in."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.checks.cells import from_notebook
from labkit.classroom.normalise import normalise
from labkit.classroom.notebook import about, dump, load, text
from labkit.classroom.release import release
from labkit.classroom.splice import splice
from labkit.classroom.submission import Unreadable, read
from tests.checkout import ROOT
from tests.classroom.zoo_cells import ANIMALS, ANSWERED, UNREADABLE, answer_cell, dumped, filled

MASTERS = sorted((ROOT / "solutions").rglob("*.ipynb"))
RETRY = ROOT / "solutions/11-state-management/retry.ipynb"
ANSWER = (
    "# labkit: retry\nfrom labkit import RetriesExhausted, TerminalError\n\n\n"
    "def execute_with_retry(fn, max_attempts, clock):\n    last = None\n    # tries\n    return (fn, max_attempts, clock, RetriesExhausted, TerminalError)"
)


@pytest.fixture(scope="module")
def book():
    return release(load(RETRY), "retry.ipynb")


def returned(tmp_path, files):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return [read(path) for path in sorted(tmp_path.iterdir())]


@pytest.mark.parametrize("animal", ANIMALS)
def test_the_zoo(book, tmp_path, animal):
    """What a class returns is found, is missing, or says in one line why it cannot be read."""
    make, state = ANIMALS[animal]
    files = make(book, ANSWER)
    if state == UNREADABLE:
        with pytest.raises(Unreadable) as said:
            returned(tmp_path, files)
        assert "\n" not in str(said.value)
        return
    placed = splice(book, returned(tmp_path, files)).answers["retry"]
    assert placed.state == state
    assert (placed.source is not None) == (state == ANSWERED)
    if state == ANSWERED and animal != "renamed":
        names = {}
        exec(placed.source, names)
        assert len(names["execute_with_retry"](1, 2, 3)) == 5


FOUND_BY = {
    "answered": "metadata",
    "metadata stripped": "anchor",
    "pasted below": "name",
    "exported to Python": "anchor",
    "in a new notebook": "anchor",
}
TOLD = {
    "answer copied": "several answers",
    "split": "split",
    "retyped": "not code",
    "timed": "magics",
    "NBVAL_SKIP": "marks",
}
TOLD_OF_ALL = {"the check changed": "changed cell", "another version": "other version"}


@pytest.mark.parametrize("animal", FOUND_BY)
def test_the_rule_is_told(book, tmp_path, animal):
    """A grade says by which rule the answer was found."""
    assert splice(book, returned(tmp_path, ANIMALS[animal][0](book, ANSWER))).answers["retry"].rule == FOUND_BY[animal]


@pytest.mark.parametrize("animal", {**TOLD, **TOLD_OF_ALL})
def test_what_is_odd_is_flagged(book, tmp_path, animal):
    """What was taken out or guessed is told."""
    spliced = splice(book, returned(tmp_path, ANIMALS[animal][0](book, ANSWER)))
    flags = spliced.answers["retry"].flags if animal in TOLD else spliced.flags
    assert [flag.kind for flag in flags] == [{**TOLD, **TOLD_OF_ALL}[animal]]


def test_only_the_answer_comes_in(book, tmp_path):
    """A changed check, tags and marks of the learner's are not in the rebuilt notebook; cells in front of the answer are."""
    for animal in ("the check changed", "NBVAL_SKIP", "a helper above"):
        place = tmp_path / animal
        place.mkdir()
        made = splice(book, returned(place, ANIMALS[animal][0](book, ANSWER))).book
        assert "print('holds')" not in dump(made).decode()
        assert "NBVAL" not in dump(made).decode()
        assert "nbval-skip" not in dump(made).decode()
        own = [cell for cell in made["cells"] if cell not in book["cells"] and about(cell).get("id") != "retry"]
        assert [text(cell["source"]).split("\n")[0] for cell in own] == (["# mine"] if animal == "a helper above" else [])


@pytest.mark.parametrize("master", MASTERS, ids=lambda path: path.stem)
def test_master_and_release(master, tmp_path):
    """The release spliced into itself is itself; the master brings its answers, word for word what a check of it gets."""
    made = release(load(master), master.name)
    same = splice(made, returned(tmp_path, dumped(made, master.name)))
    assert dump(same.book) == dump(made)
    assert {placed.state for placed in same.answers.values()} == {"untouched"}
    (tmp_path / master.name).write_bytes(master.read_bytes())
    full = splice(made, [read(tmp_path / master.name)])
    for exercise, placed in full.answers.items():
        wanted = from_notebook(master.read_text(), exercise, "")
        assert (placed.rule, placed.source.split(), placed.flags) == ("metadata", wanted.split(), ())
    assert sorted(full.answers) == sorted(about(cell)["id"] for cell in made["cells"] if about(cell).get("role") == "solution")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_untouched_cells_change_nothing(book, data):
    """Shuffling, doubling or dropping any cells but the answer's never changes what is found."""
    cells = filled(book, ANSWER)["cells"]
    others = [cell for cell in cells if about(cell).get("role") != "solution"]
    kept = data.draw(st.lists(st.sampled_from(others), max_size=25))
    place = data.draw(st.integers(0, len(kept)))
    made = {**book, "cells": [*kept[:place], answer_cell({"cells": cells}), *kept[place:]]}
    found = splice(book, [submission(made)]).answers["retry"]
    assert (found.state, found.source, found.rule) == ("answered", splice(book, [submission({**book, "cells": cells})]).answers["retry"].source, "metadata")


def submission(book):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "retry.ipynb")
        path.write_text(json.dumps(book))
        return read(path)


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from(["cells", "cell_type", "source", "metadata", "labkit", "id", "worksheets", "input", "nbformat"]), inner, max_size=4), max_leaves=12))
def test_no_json_breaks_the_reader(book, value):
    """Whatever JSON comes back, each exercise is there once, or the reader says that it cannot be read."""
    try:
        found = splice(book, [submission(value)])
    except Unreadable:
        return
    assert list(found.answers) == ["retry"]


def test_the_rebuilt_notebook_is_normal(book, tmp_path):
    """What is run in the public pass is a notebook of format 4.5 with unique ids."""
    made = splice(book, returned(tmp_path, ANIMALS["a helper above"][0](book, ANSWER))).book
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids)
    assert [cell["id"] for cell in normalise(made)["cells"]] == ids


def test_order_of_files_does_not_matter_to_two_exercises(book, tmp_path):
    """Files of other exercises beside it change nothing."""
    (tmp_path / "claim.py").write_text("# labkit: claim\ndef claim(engine, worker_id, now):\n    return None\n")
    files = returned(tmp_path, dumped(filled(book, ANSWER)))
    random.Random(1).shuffle(files)
    assert splice(book, files).answers["retry"].source == ANSWER
