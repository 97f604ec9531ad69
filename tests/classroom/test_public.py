"""The public pass: every cell of every notebook gets its state, whatever the notebooks do."""

import json

import pytest

from labkit.classroom.box import Box
from labkit.classroom.notebook import lines, load
from labkit.classroom.public import PublicCell, run_public, without_judged
from labkit.classroom.release import release
from labkit.errors import UsageError
from tests.checkout import ROOT
from tests.classroom.zoo_public import RIGHT, ZOO

pytestmark = pytest.mark.slow
WORST_FIRST = ("tampered", "error", "timeout", "failed", "blocked", "passed")
TIMEOUT = 3.0  # seconds: what is endless here is that at once
RETRY = ROOT / "solutions/11-state-management/retry.ipynb"


def cell(source, id, role="prose"):
    locked = {} if role == "solution" else {"editable": False, "deletable": False}
    return {
        "cell_type": "code",
        "source": lines(source),
        "metadata": {**locked, "labkit": {"id": id, "role": role, "schema": 1}},
    }


def small(answer, later=""):
    """A rebuilt notebook with little in it."""
    more = [cell(later, "own", "solution")] if later else []
    cells = [
        cell("wanted = 1", "setup", "setup"),
        cell(answer, "retry", "solution"),
        *more,
        cell("assert wanted == 1", "retry-check", "check"),
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def rebuilt():
    """The exercise's own notebook with a right answer in it."""
    book = release(load(RETRY), "retry.ipynb")
    for one in book["cells"]:
        if one["id"] == "answer":
            one["source"] = lines(RIGHT)
    return book


@pytest.fixture(scope="module")
def ran():
    """The whole zoo in one call, and the exercise's own notebook, in the strongest box that there is here."""
    books = {animal.name: small(animal.answer, animal.later) for animal in ZOO}
    with Box() as box, box.folder() as folder:
        environment = box.environment
        return run_public(
            {**books, "exercise": rebuilt()}, folder, timeout=TIMEOUT, wrap=box.wrap, environment=environment, sent=box.kernels
        )


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_zoo(ran, animal):
    """A notebook's worst cell is what it should be, and the notebooks around it did not suffer."""
    states = [one.state for one in ran[animal.name]]
    assert min(states, key=WORST_FIRST.index) == animal.state, ran[animal.name]


def test_an_exercise_runs_as_for_a_learner(ran):
    """`show`, `check` and `hint` of the released notebook run in the kernel; it ran last, after all that the zoo did."""
    states = {one.id: one.state for one in ran["exercise"]}
    assert states == dict.fromkeys(
        ["retry-setup", "retry", "show", "retry-check", "hint-1", "hint-2", "hint-3"], "passed"
    )


def test_what_was_judged_is_not_checked_again():
    """A cell that only checks a judged answer is left out; one that does more, checks another answer or is the learner's own is run."""
    kept = [("retry", "solution"), ("hint('retry', 1)", "prose"), ("check('retry')", "prose"), ("check('retry')\nassert wanted", "check")]
    kept += [("check('resume')", "check"), ("check('retry', answer)", "check"), ("print(check('retry'))", "check")]
    cells = [cell(source, "one", role) for source, role in kept]
    book = {"cells": [*cells, cell('check("retry")', "one", "check")], "metadata": {}}
    assert without_judged(book, {"retry"})["cells"] == cells
    assert without_judged(book, set())["cells"] == book["cells"]


def test_the_cell_that_failed_is_named(ran):
    """The state stands at the cell that earned it; the others keep theirs."""
    assert ran["raises"] == [
        PublicCell("setup", "passed", ""),
        PublicCell("retry", "failed", "ValueError: no"),
        PublicCell("retry-check", "passed", ""),
    ]


@pytest.mark.parametrize("name", ["infinite_loop", "kernel_ended"])
def test_what_follows_is_blocked(ran, name):
    """After a time-out or a dead kernel the cells are blocked, not passed over."""
    assert [one.state for one in ran[name]][::2] == ["passed", "blocked"]
    assert "cell 2" in ran[name][2].message


def test_all_of_a_tampered_notebook_is(ran):
    """Where a kernel hides errors nothing that it says of its cells counts."""
    assert {one.state for one in ran["showtraceback_silenced"]} == {"tampered"}
    assert "hides errors" in ran["showtraceback_silenced"][0].message


def test_a_timeout_says_how_long(ran):
    """The line on a time-out names the limit."""
    assert ran["infinite_loop"][1].message == "took longer than 3 seconds"


def test_the_command_goes_through_the_box(tmp_path):
    """What starts the kernels is what `wrap` makes of it; where that cannot be run nothing is, and the reason is told."""
    asked = []

    def wrap(command):
        asked.append(command)
        return ["/bin/sh", "-c", "echo the box is closed >&2"]

    with pytest.raises(UsageError, match=r"no notebook can be run: .*the box is closed"):
        run_public({"one": small(RIGHT)}, tmp_path, wrap=wrap)
    assert json.dumps(asked).count("kernel_parent") == 1
