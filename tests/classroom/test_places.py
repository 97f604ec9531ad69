"""A folder that cannot be meant is refused with what to do, and nothing is written."""

import os
import shutil

import pytest

from labkit.classroom import assignments, places
from labkit.classroom.notebook import dump
from labkit.classroom.release import command as release
from labkit.errors import UsageError
from tests.checkout import ROOT
from tests.classroom.test_assignments import solution
from tests.classroom.test_release import master

NESTED = "11-state-management/backoff.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course with one notebook in the folder of its chapter."""
    folder = tmp_path / "course"
    (folder / "solutions" / NESTED).parent.mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / NESTED, folder / "solutions" / NESTED)
    release(folder / "solutions")
    return folder


def returned(folder, course):
    masters = course / "solutions"
    return places.returned(folder, masters, assignments.read(masters))


@pytest.mark.parametrize("named", [".", "course", "course/solutions", "course/solutions/11-state-management", "course/exercises", "elsewhere", "another"])
def test_a_course_is_no_class(course, named):
    """The folder of the course, those above and inside, a release elsewhere and another course are refused: their parts are no learners."""
    place = course.parent
    shutil.copytree(place / "course/exercises", place / "elsewhere")
    for part in ("exercises", "solutions"):
        (place / "another" / part).mkdir(parents=True)
        (place / "another" / part / "mine.ipynb").write_bytes(dump(master(solution("mine"))))
    with pytest.raises(UsageError, match=r"belongs to the course and is not what the learners returned: name the folder that holds <learner>"):
        returned(place / named, course)


def test_a_class_that_returns_the_folder_of_the_course(course, tmp_path):
    """Learners may return all that they were given, as it was; a notebook that lies at the top is nobody's and harms nobody."""
    for learner in ("ann", "solutions"):
        shutil.copytree(course / "exercises", tmp_path / "class" / learner)
    shutil.copy(course / "exercises" / NESTED, tmp_path / "class")
    assert list(returned(tmp_path / "class", course).learners) == ["ann", "solutions"]


@pytest.mark.parametrize(("names", "why"), [([], "it is empty"), (["readme.txt"], r"what is there is nobody's \(readme.txt\)")])
def test_nobody_returned_anything(course, tmp_path, names, why):
    """A folder without a learner is the wrong one; a learner's folder with nothing in it is a learner."""
    (tmp_path / "class").mkdir()
    for name in names:
        (tmp_path / "class" / name).touch()
    with pytest.raises(UsageError, match=f"no learner has returned anything to .*class: {why}; name the folder that holds"):
        returned(tmp_path / "class", course)
    (tmp_path / "class/ann").mkdir()
    assert returned(tmp_path / "class", course).learners == {"ann": []}


def test_a_report_that_cannot_be_written(tmp_path, monkeypatch):
    """Whether the folder cannot be made, or is there and takes no file, the line says what to do."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"no report can be written to .*file/report \(Not a directory\): name another folder with --out"):
        places.ready(tmp_path / "file/report")

    def refuses(**where):
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr(places, "TemporaryFile", refuses)
    with pytest.raises(UsageError, match=r"\(Read-only file system\): name another folder with --out"):
        places.ready(tmp_path)


def test_a_report_that_can_be_written(tmp_path):
    """The folder is made, and nothing is left in it."""
    places.ready(tmp_path / "a/report")
    places.ready(tmp_path / "a/report")
    assert list((tmp_path / "a/report").iterdir()) == []


@pytest.mark.parametrize("name", [*places.FILES, places.LEARNERS])
def test_something_in_the_way_of_the_report(tmp_path, name):
    """A folder where a file of the report goes, or a file where its folder goes, is told before anything is graded."""
    if name == places.LEARNERS:
        (tmp_path / name).touch()
    else:
        (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match=f"{name} is in the way of the report's own: name another folder with --out"):
        places.ready(tmp_path)
