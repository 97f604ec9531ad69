"""The work folder: what a learner changed stays, whatever comes from outside."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import material, workfolder
from labkit.errors import UsageError

LESSON, RETRY = "notebooks/00-start-here.ipynb", "exercises/11-state/retry.ipynb"


def notebook(text, id=None):
    about = {"labkit": {"id": id, "role": "solution", "schema": 1}} if id else {}
    return json.dumps({"cells": [{"cell_type": "code", "source": text, "metadata": about}], "metadata": {}, "nbformat": 4})


class Place:
    """A checkout with two notebooks, and a work folder beside it."""

    def __init__(self, top):
        self.originals, self.work = top / "checkout", top / "work"
        self.original(LESSON, notebook("lesson 1"))
        self.original(RETRY, notebook("retry 1", "retry"))
        (self.originals / "exercises" / "manifest.json").write_text("{}")
        (self.originals / "pyproject.toml").touch()

    def original(self, name, text):
        (self.originals / name).parent.mkdir(parents=True, exist_ok=True)
        (self.originals / name).write_text(text)

    def read(self, name):
        return (self.work / name).read_text()

    def change(self, name, text):
        (self.work / name).write_text(text)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(material, "PACKAGE", tmp_path / "checkout" / "labkit")
    return Place(tmp_path)


def test_first_fill_copies_all_but_the_manifest(place):
    """Lessons and exercises are copied under their own paths; the graders' manifest stays at home."""
    assert workfolder.fill(place.work).did == {LESSON: "copied", RETRY: "copied"}
    assert sorted(path.name for path in place.work.rglob("*.*")) == [
        ".labkit",
        "00-start-here.ipynb",
        "copied.json",
        "retry.ipynb",
    ]


def test_second_fill_does_nothing(place):
    """Nothing is written when nothing is new."""
    workfolder.fill(place.work)
    assert workfolder.fill(place.work).did == {LESSON: "same", RETRY: "same"}


def test_untouched_file_is_updated(place):
    """A newer original replaces a copy that nobody changed."""
    workfolder.fill(place.work)
    place.original(RETRY, notebook("retry 2", "retry"))
    assert workfolder.fill(place.work).names("updated") == [RETRY]
    assert place.read(RETRY) == notebook("retry 2", "retry")


def test_a_notebook_that_was_only_run_is_untouched(place):
    """Outputs, counts and what an editor notes in metadata are no change: the newer original still comes."""
    workfolder.fill(place.work)
    ran = json.loads(place.read(RETRY)) | {"metadata": {"language_info": {"version": "3"}}}
    ran["cells"][0] |= {"outputs": [{"output_type": "stream"}], "execution_count": 1, "source": ["ret", "ry 1"]}
    place.change(RETRY, json.dumps(ran))
    assert workfolder.fill(place.work).names("same") == [LESSON, RETRY]
    place.original(RETRY, notebook("retry 2", "retry"))
    assert workfolder.fill(place.work).names("updated") == [RETRY]


def test_changed_file_is_kept_and_said_so(place):
    """A learner's version outlives a newer original, which is announced once, with the way to get it."""
    workfolder.fill(place.work)
    place.change(RETRY, "mine")
    assert workfolder.fill(place.work).names("kept") == []
    place.original(RETRY, notebook("retry 2", "retry"))
    text = workfolder.fill(place.work).text()
    assert f"kept as you changed it: {RETRY} (for the newer one: labkit reset retry)" in text
    assert place.read(RETRY) == "mine"
    assert workfolder.fill(place.work).names("kept") == []


@pytest.mark.parametrize("damage", [None, "", "{", "[]", '{"x": 1}', '{"exercises/11-state/retry.ipynb": 1}'])
def test_lost_memory_overwrites_nothing(place, damage):
    """With the memory gone or damaged a file that differs from the original counts as the learner's."""
    workfolder.fill(place.work)
    place.change(RETRY, "mine")
    memory = place.work / ".labkit" / "copied.json"
    memory.unlink() if damage is None else memory.write_text(damage)
    assert workfolder.fill(place.work).names("kept") == [RETRY]
    assert place.read(RETRY) == "mine"


def test_deleted_file_comes_back(place):
    """A copy that is gone is copied again."""
    workfolder.fill(place.work)
    (place.work / RETRY).unlink()
    assert workfolder.fill(place.work).names("copied") == [RETRY]


def test_reset_keeps_the_old_versions_beside(place):
    """`reset` brings the original back and never loses what was there, however often."""
    workfolder.fill(place.work)
    for number in (1, 2):
        place.change(RETRY, f"mine {number}")
        assert f"retry.yours-{number}.ipynb" in workfolder.reset("retry", place.work)
        assert place.read(RETRY) == notebook("retry 1", "retry")
    assert [place.read(f"exercises/11-state/retry.yours-{number}.ipynb") for number in (1, 2)] == ["mine 1", "mine 2"]
    assert "nothing to bring back" in workfolder.reset("retry", place.work)
    assert workfolder.fill(place.work).names("same") == [LESSON, RETRY]


def test_reset_finds_a_lesson_by_its_name(place):
    """A lesson that was changed comes back by its file name."""
    workfolder.fill(place.work)
    place.change(LESSON, "mine")
    workfolder.reset("00-start-here", place.work / "notebooks")
    assert place.read(LESSON) == notebook("lesson 1")


def test_reset_of_what_is_not_there(place):
    """An unknown id names the known ones; without a work folder there is nothing to reset."""
    with pytest.raises(UsageError, match="no work folder"):
        workfolder.reset("retry", place.originals)
    workfolder.fill(place.work)
    with pytest.raises(UsageError, match="there are retry, 00-start-here"):
        workfolder.reset("../retry", place.work)


def test_passed_exercises_are_remembered(place):
    """What was passed is known from anywhere in the work folder, and from the folder that holds it."""
    workfolder.fill(place.work)
    workfolder.mark_passed("retry", place.work / "exercises" / "11-state")
    for exercise in ("lease", "../../odd"):
        workfolder.mark_passed(exercise, place.work)
    assert workfolder.passed_ids(place.work) == workfolder.passed_ids(place.work.parent) == {"lease", "retry"}


def test_outside_of_a_work_folder_nothing_is_remembered(place):
    """A check in any other folder leaves no trace there."""
    workfolder.mark_passed("retry", place.originals)
    assert workfolder.passed_ids(place.originals) == set()
    assert not (place.originals / ".labkit").exists()


def test_odd_folders_are_refused(place, tmp_path):
    """A file, a folder below one, where the originals are, and where nothing can be made: no work folders, each in words."""
    (tmp_path / "file").touch()
    odd = {
        tmp_path / "file": "is a file",
        tmp_path / "file" / "below": "file is a file",
        place.originals: "originals",
        place.originals / "notebooks": "originals",
        place.originals / "notebooks" / "mine": "originals",
        place.originals / "exercises" / "11-state" / "mine": "originals",
        tmp_path / ("x" * 300): "cannot be made: File name too long",
    }
    for folder, why in odd.items():
        with pytest.raises(UsageError, match=why):
            workfolder.fill(folder)
    assert workfolder.fill(place.originals / "work").names("copied") == [LESSON, RETRY]


def test_lesson_that_asks_for_an_exercise_is_its_place(place):
    """An exercise that a lesson asks for is found there, and comes back with it."""
    place.original(LESSON, notebook("warm up", "warmup"))
    workfolder.fill(place.work)
    assert workfolder.exercises() == {"warmup": LESSON, "retry": RETRY}
    place.change(LESSON, notebook("mine", "warmup"))
    assert workfolder.reset("warmup", place.work) == f"{LESSON} is new again, yours is kept as notebooks/00-start-here.yours-1.ipynb"


def test_what_was_only_looked_at_is_nobodys_version(place):
    """`reset` keeps nothing aside when no cell was changed: run, saved by the editor, older than the original, or gone."""
    for old, now in (("retry 1", "retry 1"), ("retry 1", "retry 2")):
        place.original(RETRY, notebook(old, "retry"))
        workfolder.reset("retry", place.work) if place.work.exists() else workfolder.fill(place.work)
        saved = json.loads(place.read(RETRY)) | {"metadata": {"language_info": {"version": "3"}}}
        saved["cells"][0] |= {"outputs": [{"output_type": "stream"}], "execution_count": 1}
        place.change(RETRY, json.dumps(saved))
        place.original(RETRY, notebook(now, "retry"))
        assert workfolder.reset("retry", place.work) == f"{RETRY} is new again"
        assert place.read(RETRY) == notebook(now, "retry")
    (place.work / RETRY).unlink()
    assert workfolder.reset("retry", place.work) == f"{RETRY} is new again"
    assert [path.name for path in place.work.rglob("*yours*")] == []


STEPS = st.lists(st.sampled_from(["fill", "edit", "release", "delete", "forget"]), max_size=12)


@given(STEPS)
def test_no_edit_is_ever_lost(tmp_path_factory, steps):
    """Over any order of edits, newer originals and fills: after a fill the file is the learner's last version or an original."""
    top = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(material, "PACKAGE", top / "checkout" / "labkit")
        place, mine = Place(top), None
        workfolder.fill(place.work)
        for number, step in enumerate(steps):
            if step == "fill":
                workfolder.fill(place.work)
            elif step == "edit":
                mine = f"mine {number}"
                place.change(RETRY, mine)
            elif step == "release":
                place.original(RETRY, notebook(f"retry {number}", "retry"))
            elif step == "delete":
                mine = None
                (place.work / RETRY).unlink(missing_ok=True)
            else:
                (place.work / ".labkit" / "copied.json").unlink(missing_ok=True)
            if mine is not None:
                assert place.read(RETRY) == mine


def test_stored_pictures_are_trusted(place, monkeypatch, tmp_path):
    """A copied lesson is signed, so that JupyterLab shows its stored pictures before anything was run; one that was edited is not."""
    nbformat = pytest.importorskip("nbformat")
    from nbformat.sign import NotebookNotary

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", id="one")])
    place.original(LESSON, nbformat.writes(lesson))
    workfolder.fill(place.work)
    assert NotebookNotary().check_signature(nbformat.reads(place.read(LESSON), as_version=4))
    edited = nbformat.reads(place.read(LESSON), as_version=4)
    edited.cells[0].source = "2"
    assert not NotebookNotary().check_signature(edited)


@pytest.mark.parametrize("asked", ["retry.ipynb", RETRY, f"./exercises/../{RETRY}", "{work}/" + RETRY])
def test_reset_takes_names_and_paths(place, asked, monkeypatch):
    """A notebook is meant by its file name, its path in the work folder, and any path that leads to it from here."""
    workfolder.fill(place.work)
    place.change(RETRY, "mine")
    monkeypatch.chdir(place.work)
    assert workfolder.reset(asked.format(work=place.work)).startswith(f"{RETRY} is new again")
    for none in ("other/retry.ipynb", "../retry.ipynb", "exercises", "", "a\0b"):
        with pytest.raises(UsageError, match="no exercise or lesson is called"):
            workfolder.reset(none)


def test_exercises_are_named_in_the_order_of_the_course(place):
    """The list of what there is follows the course, and the lessons come after it."""
    for name, id in (("z", "warmup"), ("a", "claim")):
        place.original(f"exercises/{name}.ipynb", notebook(name, id))
    workfolder.fill(place.work)
    with pytest.raises(UsageError, match=r"there are warmup, retry, claim, 00-start-here$"):
        workfolder.reset("nothing", place.work)


def test_what_stands_in_the_way_of_one_file(place):
    """A folder in the place of a notebook is told with what to do; all other files are copied, and later it comes too."""
    (place.work / RETRY).mkdir(parents=True)
    filled = workfolder.fill(place.work)
    assert filled.did == {LESSON: "copied", RETRY: "blocked"}
    assert f"not copied: {RETRY}: {RETRY} is a folder: move it away" in filled.text()
    with pytest.raises(UsageError, match=r"retry\.ipynb is a folder: move it away"):
        workfolder.reset("retry", place.work)
    (place.work / RETRY).rmdir()
    filled = workfolder.fill(place.work)
    assert (filled.did, filled.text()) == ({LESSON: "same", RETRY: "copied"}, f"{place.work}: 1 file copied, 0 updated")


def test_a_file_in_the_place_of_a_folder(place):
    """The same where a file has the name of a folder; what is in it stays."""
    workfolder.fill(place.work)
    (place.work / RETRY).unlink()
    (place.work / RETRY).parent.rmdir()
    (place.work / RETRY).parent.write_text("mine")
    assert workfolder.fill(place.work).why == {RETRY: "exercises/11-state is a file, not a folder: move it away"}
    with pytest.raises(UsageError, match="is a file, not a folder: move it away"):
        workfolder.reset("retry", place.work)
    assert (place.work / RETRY).parent.read_text() == "mine"
