"""A class in which everybody hands in an odd file: each row is there, and says what that file is worth.

What answers do to the box and to their kernels has its rows in test_hidden and test_public."""

import shutil

import pytest

from labkit.classroom import grader
from labkit.classroom.grade import grade
from labkit.classroom.notebook import load
from labkit.classroom.public import PASSED, PublicCell
from labkit.classroom.release import command as make_release
from labkit.classroom.release import release
from tests.checkout import ROOT
from tests.classroom.zoo_cells import ANIMALS, ANSWERED, MISSING, UNREADABLE, UNTOUCHED
from tests.classroom.zoo_public import RIGHT

STATES = {ANSWERED: "passed", UNTOUCHED: "not_attempted", MISSING: "missing", UNREADABLE: "error"}
# an answer that defines another name cannot be asked for anything; of an archive nobody knows for which exercise it is
OTHERWISE = {"renamed": "error", "zipped": "missing"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The class, graded once; that notebooks run is shown elsewhere."""
    course, returned = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("returned")
    (course / "solutions").mkdir()
    shutil.copy(ROOT / "solutions/11-state-management/retry.ipynb", course / "solutions")
    make_release(course / "solutions")
    book = release(load(course / "solutions/retry.ipynb"), "retry.ipynb")
    for name, (make, _) in ANIMALS.items():
        (returned / name).mkdir()
        for file, data in make(book, RIGHT).items():
            (returned / name / file).write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grader, "run_public", lambda books, folder, **more: {name: [PublicCell("x", PASSED, "")] for name in books})
        book = grade(returned, tmp_path_factory.mktemp("out") / "report", course / "solutions", databases=("sqlite",), isolation="process")
    return {row.learner: row.entries["retry"] for row in book.rows}


def test_everybody_is_there(rows):
    """Nobody is lost and nobody is there twice."""
    assert sorted(rows) == sorted(ANIMALS)


@pytest.mark.parametrize("animal", ANIMALS)
def test_row(rows, animal):
    """The state follows from what was handed in; points are all or none, and none has a reason."""
    found, state = rows[animal], OTHERWISE.get(animal, STATES[ANIMALS[animal][1]])
    assert (found.state, found.points) == (state, found.most if state == "passed" else 0), found.reason
    assert bool(found.reason) == (state != "passed")
