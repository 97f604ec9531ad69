"""Grading a class: a row for everybody, the same on every run, and nothing that one learner sends costs another one anything."""

import csv
import json
import shutil

import pytest

from labkit.checks.registry import FOLDER as FOLDER_OF_CHECKS
from labkit.classroom import grade as grading
from labkit.classroom import grader
from labkit.classroom.grade import command, grade, page_names
from labkit.classroom.kept import FOLDER
from labkit.classroom.notebook import dump
from labkit.classroom.public import PASSED, PublicCell
from labkit.classroom.release import command as release
from labkit.errors import UsageError
from tests.checkout import ROOT
from tests.classroom.test_assignments import OWN, solution
from tests.classroom.test_release import master

BACKOFF = "11-state-management/backoff.ipynb"
NOTHING_OF_THE_MOMENT = {"timing.json"}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with one quick exercise, and its release."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "solutions").mkdir()
    shutil.copy(ROOT / "solutions" / BACKOFF, folder / "solutions")
    release(folder / "solutions")
    return folder


@pytest.fixture(scope="module")
def returned(course, tmp_path_factory):
    """What a small class returned: one right, one untouched, one wrong, one that is no notebook, and a file of nobody."""
    folder = tmp_path_factory.mktemp("returned")
    for name in ("ann", "bob", "cid", "dan"):
        (folder / name).mkdir()
    shutil.copy(course / "solutions/backoff.ipynb", folder / "ann")
    shutil.copy(course / "exercises/backoff.ipynb", folder / "bob")
    shutil.copy(ROOT / "tests/answers/backoff/wrong/forgets_base.py", folder / "cid/backoff.py")
    (folder / "dan/backoff.ipynb").write_text("{")
    (folder / "readme.txt").write_text("please find attached")
    return folder


def graded(returned, course, out, **more):
    return grade(returned, out, course / "solutions", databases=("sqlite",), isolation="process", **more)


def files(out):
    """The report, but for what belongs to the moment and what is kept for the next grader."""
    found = [path for path in sorted(out.rglob("*")) if path.is_file() and FOLDER not in path.parts]
    return {str(path.relative_to(out)): path.read_bytes() for path in found if path.name not in NOTHING_OF_THE_MOMENT}


@pytest.fixture(scope="module")
def first(returned, course, tmp_path_factory):
    out = tmp_path_factory.mktemp("first") / "report"
    return graded(returned, course, out), out


@pytest.fixture
def notebooks_run(monkeypatch):
    """The public pass takes seconds and says here that all is well: that it does so really is what `first` shows."""
    monkeypatch.setattr(grader, "run_public", lambda books, folder, **more: {name: [PublicCell("x", PASSED, "")] for name in books})


def test_everybody_has_a_row(first):
    """The right answer has all points, the wrong one some, the untouched, the broken file and nothing at all have none and a reason."""
    rows = {row.learner: row.entries["backoff"] for row in first[0].rows}
    assert {name: entry.state for name, entry in rows.items()} == {"ann": "passed", "bob": "not_attempted", "cid": "failed", "dan": "error"}
    assert (rows["ann"].points, rows["bob"].points, rows["dan"].points) == (6, 0, 0)
    assert 0 < rows["cid"].points < 6
    assert all(entry.reason for name, entry in rows.items() if name != "ann")
    assert [stray for stray in first[0].strays if "readme.txt" in stray]


def test_the_files(first):
    """All outputs are there, and agree with each other."""
    found = files(first[1])
    assert {"index.html", "grades.csv", "details.jsonl", "junit.xml", "learners/ann.html", "learners/ann.json"} <= set(found)
    table = list(csv.DictReader(found["grades.csv"].decode().splitlines()))
    assert [row["learner"] for row in table] == ["ann", "bob", "cid", "dan"]
    assert json.loads(found["learners/cid.json"])["score"] == float(table[2]["total"])
    assert b"The simplest run that breaks it" in found["learners/cid.html"] or b"what happened" in found["learners/cid.html"]


@pytest.mark.usefixtures("notebooks_run")
def test_twice_is_the_same(first, returned, course, tmp_path):
    """A second grader, with two jobs, writes the same bytes."""
    graded(returned, course, tmp_path / "report", jobs=2)
    assert files(tmp_path / "report") == files(first[1])


@pytest.mark.usefixtures("notebooks_run")
def test_interrupted_and_started_again(first, returned, course, tmp_path, monkeypatch):
    """A grader that dies in the middle is gone on with, and the report is the same; what was done is not done again."""
    real, done = grading.grade_learner, []

    def dies_at_the_third(learner, *rest):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(learner)
        return real(learner, *rest)

    monkeypatch.setattr(grading, "grade_learner", dies_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        graded(returned, course, tmp_path / "report")
    again = []
    monkeypatch.setattr(grading, "grade_learner", lambda learner, *rest: again.append(learner) or real(learner, *rest))
    graded(returned, course, tmp_path / "report")
    assert (done, again) == (["ann", "bob"], ["cid", "dan"])
    assert files(tmp_path / "report") == files(first[1])


@pytest.mark.usefixtures("notebooks_run")
def test_a_grader_that_fails_on_one(returned, course, tmp_path, monkeypatch, capsys):
    """What goes wrong in the grader itself costs one row, is said there, is not kept, and makes the command end with 1."""
    real = grading.grade_learner

    def fails_on_cid(learner, *rest):
        if learner == "cid":
            raise RuntimeError("a fault of ours")
        return real(learner, *rest)

    monkeypatch.setattr(grading, "grade_learner", fails_on_cid)
    arguments = {"seed": 1, "isolation": "process", "jobs": 1, "databases": ("sqlite",), "told": lambda said: None}
    assert command(returned, tmp_path / "report", course / "solutions", **arguments) == 1
    book = graded(returned, course, tmp_path / "report2")
    rows = {row.learner: row.entries["backoff"] for row in book.rows}
    assert (rows["cid"].state, rows["ann"].state) == ("error", "passed")
    assert "a fault of ours" in rows["cid"].reason
    assert len(list((tmp_path / "report" / FOLDER).glob("????????????????????????.json"))) == 3


@pytest.mark.usefixtures("notebooks_run")
def test_a_learner_who_left(returned, course, tmp_path):
    """A page of somebody who is not in the class any more goes; what others put there stays."""
    here = tmp_path / "returned"
    shutil.copytree(returned, here)
    out = tmp_path / "report"
    graded(here, course, out)
    (out / "learners/notes.html").write_text("mine")
    shutil.rmtree(here / "bob")
    graded(here, course, out)
    assert sorted(path.name for path in (out / "learners").glob("*.html")) == ["ann.html", "cid.html", "dan.html", "notes.html"]


def test_a_report_among_the_masters(returned, course):
    """A report beside the masters would be one of them."""
    with pytest.raises(UsageError, match="masters"):
        graded(returned, course, course / "solutions/report")


@pytest.mark.parametrize("out", ["returned/report", ".", "returned"])
def test_a_report_where_it_must_not_be(returned, course, tmp_path, out):
    """A report among the submissions would be graded next time: refused, and nothing is written."""
    shutil.copytree(returned, tmp_path / "returned")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="must not lie"):
        graded(tmp_path / "returned", course, tmp_path / out)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_makes_grading_impossible(returned, course, tmp_path):
    """A folder that is not there, masters that are none, a level that there is not: one line, and nothing is written."""
    fine = course / "solutions"
    for folder, masters, level in ((tmp_path / "no", fine, "process"), (returned, tmp_path, "process"), (returned, fine, "steel")):
        with pytest.raises(UsageError):
            grade(folder, tmp_path / "report", masters, databases=("sqlite",), isolation=level)
    assert not (tmp_path / "report").exists()


@pytest.mark.usefixtures("notebooks_run")
def test_a_file_without_an_answer(course, tmp_path):
    """Who handed in something that answers nothing is told which file it was."""
    (tmp_path / "returned/ann").mkdir(parents=True)
    (tmp_path / "returned/ann/solution.py").write_text("def my_delay(n):\n    return n\n")
    (row,) = graded(tmp_path / "returned", course, tmp_path / "report").rows
    assert [(flag.kind, flag.text) for flag in row.flags] == [("not used", "no answer was found in solution.py")]
    assert row.entries["backoff"].state == "missing"


@pytest.mark.usefixtures("notebooks_run")
def test_a_name_that_asks_for_an_unknown_exercise(course, tmp_path):
    """It is told, whether or not the file holds an answer to something; the name of an exercise or of a notebook is not."""
    (tmp_path / "returned").mkdir()
    right = (ROOT / "tests/answers/backoff/right/ldexp.py").read_text()
    for name, text in (("xia__nosuch", right), ("yan__NOSUCH (1)", "x = 1\n"), ("zoe__Backoff", right)):
        (tmp_path / f"returned/{name}.py").write_text(text)
    book = graded(tmp_path / "returned", course, tmp_path / "report")
    told = {row.learner: [flag.text for flag in row.flags if flag.kind == "unknown exercise"] for row in book.rows}
    line = "{}: there is no exercise 'nosuch' in this course; {}"
    xia, yan = line.format("xia__nosuch.py", "its answer was taken for backoff"), line.format("yan__NOSUCH (1).py", "was another one meant?")
    assert told == {"xia": [xia], "yan": [yan], "zoe": []}
    assert book.rows[0].points == 6


@pytest.mark.usefixtures("notebooks_run")
def test_a_row_says_which_files_were_not_read(course, tmp_path):
    """Who handed in an archive or a file of another kind has a row, and it says why nothing was read; so do two answers in two files."""
    folder, right = tmp_path / "returned", (ROOT / "tests/answers/backoff/right/ldexp.py").read_text()
    for name in ("ann/hw.zip", "ann/notes.txt", "bob/backoff.json", "cid__backoff.ipynb.txt", "dan__backoff.zip", "eve/backoff.ipynb", "eve/backoff.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(right)
    shutil.copy(course / "solutions/backoff.ipynb", folder / "eve/backoff.ipynb")
    book = graded(folder, course, tmp_path / "report")
    told = {row.learner: [flag.text for flag in row.flags] for row in book.rows}
    kinds = {learner: [line.partition(": ")[2].partition(":")[0] for line in lines] for learner, lines in told.items()}
    assert kinds == {"ann": ["hw.zip", "notes.txt"], "bob": ["backoff.json"], "cid": ["cid__backoff.ipynb.txt"], "dan": ["dan__backoff.zip"], "eve": []}
    assert all(line.endswith("hand in notebooks (.ipynb) or Python files (.py)") for lines in told.values() for line in lines)
    reasons = {row.learner: row.entries["backoff"].reason[:9] for row in book.rows}
    assert reasons == {"ann": "nothing w", "bob": "not read:", "cid": "not read:", "dan": "not read:", "eve": ""}
    assert book.strays == []


def test_namesakes_are_told_once(course, tmp_path):
    """Two rows that may be one learner's are told of each other on the first run, and in the same way on the second, which grades nothing again."""
    for name in ("Ann", "ann"):
        (tmp_path / "returned" / name).mkdir(parents=True)
    twice = [graded(tmp_path / "returned", course, tmp_path / "report") for _ in range(2)]
    told = [{row.learner: [flag.text for flag in row.flags] for row in book.rows} for book in twice]
    line = "another row is called {!r}: one learner, or two?"
    assert told == [{"Ann": [line.format("ann")], "ann": [line.format("Ann")]}] * 2


@pytest.mark.usefixtures("notebooks_run")
def test_an_exercise_of_ones_own(tmp_path, monkeypatch):
    """The check of a course's own is found inside the strongest box that there is."""
    for name in ("checks", "solutions", "returned/ann"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "checks/mine.py").write_text(OWN.format(id="mine"))
    (tmp_path / "solutions/mine.ipynb").write_bytes(dump(master(solution("mine"))))
    (tmp_path / "returned/ann/mine.py").write_text("# labkit: mine\ndef mine():\n    return 1\n")
    monkeypatch.setenv(FOLDER_OF_CHECKS, str(tmp_path / "checks"))
    book = grade(tmp_path / "returned", tmp_path / "report", tmp_path / "solutions", databases=("sqlite",))
    assert [(row.learner, row.entries["mine"].state, row.points) for row in book.rows] == [("ann", "passed", 3)]


def test_page_names():
    """Each learner has a file of her or his own on every file system; plain names stay what they are."""
    names = page_names(dict.fromkeys(["ann", "Bob", "bob", "../x", "é", "", "a b", "con."]))
    assert names["ann"] == "ann"
    assert len({name.casefold() for name in names.values()}) == len(names)
    assert all(name.strip(".") and "/" not in name and ".." not in name for name in names.values())


@pytest.mark.parametrize(("version", "told"), [("99.1.0", True), ("3.11.0", False), ("", False), ("new", False), ("3", False)])
def test_written_with_a_newer_python(returned, course, tmp_path, notebooks_run, version, told):
    """An answer that ours does not understand may be right elsewhere: where the notebook says so a person is told, and the learner which Python it was."""
    book = json.loads((course / "solutions/backoff.ipynb").read_text())
    answer = next(cell for cell in book["cells"] if cell["metadata"].get("labkit", {}).get("role") == "solution")
    answer["source"] = ["# labkit: backoff\n", "def backoff_delay(attempt, *, base, cap, rng, retry_after=None) wherever newer:\n", "    return 1\n"]
    book["metadata"]["language_info"] = {"name": "python", "version": version}
    (tmp_path / "class/eva").mkdir(parents=True)
    (tmp_path / "class/eva/backoff.ipynb").write_text(json.dumps(book))
    entry = graded(tmp_path / "class", course, tmp_path / "report").rows[0].entries["backoff"]
    assert (entry.state, "does not parse" in entry.reason, "read by Python 3." in entry.reason) == ("error", True, True)
    assert [flag.kind for flag in entry.flags if flag.kind == "other Python"] == ["other Python"] * told
