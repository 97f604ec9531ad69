"""Every file of a class is somebody's or is told, and none from elsewhere is reached."""

import os

import pytest

from labkit.classroom import collect as module
from labkit.classroom.collect import DEEPEST, MOST_FILES, MOST_TOLD, asked_for, called, collect, namesakes

ASSIGNMENTS = {"11-state-management/retry.ipynb": ["retry"], "21/two.ipynb": ["deploy_saga", "saga"]}


def put(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return folder


def collected(folder):
    """({learner: files below the folder}, strays)."""
    found = collect(folder, ASSIGNMENTS)
    return {learner: [path.relative_to(folder).as_posix() for path in files] for learner, files in found.learners.items()}, found.strays


def test_a_folder_for_each(tmp_path):
    """Notebooks and Python files at any depth below a learner's folder are the learner's; an empty folder is a learner who handed in nothing."""
    put(tmp_path, "ann/retry.ipynb", "ann/b/c/x.py", "ann/data.csv", "bob/Retry.IPYNB")
    (tmp_path / "cid").mkdir()
    assert collected(tmp_path) == ({"ann": ["ann/b/c/x.py", "ann/retry.ipynb"], "bob": ["bob/Retry.IPYNB"], "cid": []}, [])


def test_files_with_a_learners_name(tmp_path):
    """What stands before the last `__` is the learner, whatever is handed in: the reader says what it cannot read."""
    put(tmp_path, "ann__retry.ipynb", "ann__deploy_saga.py", "b__c__two (1).ipynb", "-d __RETRY.py", "..__saga.py")
    put(tmp_path, "ann__retry_final.py", "__retry.py", " __retry.py", "retry.ipynb", "ann__retry.txt", "zoe__retry.zip", "li__retry.ipynb.txt", "ann__.py")
    learners, strays = collected(tmp_path)
    assert learners == {
        "-d ": ["-d __RETRY.py"],
        "..": ["..__saga.py"],
        "ann": ["ann__deploy_saga.py", "ann__retry.ipynb", "ann__retry.txt", "ann__retry_final.py"],
        "li": ["li__retry.ipynb.txt"],
        "zoe": ["zoe__retry.zip"],
        "b__c": ["b__c__two (1).ipynb"],
    }
    assert strays == [" __retry.py", "__retry.py", "ann__.py", "retry.ipynb"]


def test_both_ways(tmp_path):
    """A folder and a file of one learner come together, also where a disk spells the name in another way; another case is another learner."""
    put(tmp_path, "ann/retry.ipynb", "ann__saga.py", "Ann__saga.py", "a\u0301__saga.py", "\u00e1__saga.py")
    assert collected(tmp_path)[0] == {
        "Ann": ["Ann__saga.py"],
        "ann": ["ann/retry.ipynb", "ann__saga.py"],
        "\u00e1": ["a\u0301__saga.py", "\u00e1__saga.py"],
    }


def test_namesakes():
    """Whose names differ in capitals and blanks alone are told of each other."""
    assert namesakes(["ann", "Ann", "ann ", "anna", "bob l", "BobL"]) == {
        "Ann": ["ann", "ann "],
        "ann": ["Ann", "ann "],
        "ann ": ["Ann", "ann"],
        "BobL": ["bob l"],
        "bob l": ["BobL"],
    }


def test_what_programs_leave_behind(tmp_path):
    """Check-points, caches, hidden files and virtual environments are nobody's and are not told."""
    put(tmp_path, ".DS_Store", "._ann__retry.py", "__MACOSX/x.ipynb", ".ipynb_checkpoints/retry-checkpoint.ipynb", "ann/retry.ipynb")
    put(tmp_path, "ann/.ipynb_checkpoints/retry-checkpoint.ipynb", "ann/._retry.ipynb", "ann/__pycache__/x.py", "ann/.git/x.py")
    put(tmp_path, "ann/env/pyvenv.cfg", "ann/env/lib/x.py")
    assert collected(tmp_path) == ({"ann": ["ann/retry.ipynb"]}, [])


def test_what_lies_deeper_comes_first(tmp_path):
    """Of two files of one name the one at the top is the last."""
    put(tmp_path, "ann/retry.ipynb", "ann/old/retry.ipynb", "ann/z/old/retry.ipynb")
    assert collected(tmp_path)[0] == {"ann": ["ann/z/old/retry.ipynb", "ann/old/retry.ipynb", "ann/retry.ipynb"]}


def test_a_second_download_at_the_top_comes_last(tmp_path):
    """The same where the files of all learners lie side by side, and behind what lies in a folder of the learner's."""
    names = ["ann__retry.ipynb", "ann__retry (2).ipynb", "ann__retry (10).ipynb"]
    put(tmp_path, *reversed(names), "ann/retry (3).ipynb")
    assert [path.name for path in collect(tmp_path, ASSIGNMENTS).learners["ann"]] == ["retry (3).ipynb", *names]


def test_the_order_of_copies(tmp_path):
    """What programs call a second download or copy comes behind the first, the tenth behind the second: the last is the newest."""
    put(tmp_path, "a/retry (10).ipynb", "a/retry (2).ipynb", "a/retry.ipynb", "a/retry-Copy1.ipynb", "a/b.py", "a/retry2.py", "a/retry copy.ipynb")
    names = ["b.py", "retry.ipynb", "retry copy.ipynb", "retry-Copy1.ipynb", "retry (2).ipynb", "retry (10).ipynb", "retry2.py"]
    assert collected(tmp_path)[0] == {"a": [f"a/{name}" for name in names]}


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("retry.py", "retry"),
        ("ann__Retry (1).ipynb", "retry"),
        ("retry-Copy3.ipynb", "retry"),
        ("retry - Copy.py", "retry"),
        ("a__b__saga copy 2.py", "saga"),
        ("x(1)y.py", "x(1)y"),
    ],
)
def test_called(tmp_path, name, after):
    """A file is called after an exercise whoever it is from and however often it was downloaded."""
    assert called(tmp_path / name) == after


@pytest.mark.parametrize(
    ("name", "asks"), [("ann__nosuch.ipynb", "nosuch"), ("ann__No such (1).py", "no such"), ("ann__x.ipynb.txt", "x"), ("my__x.py", ""), ("x.py", "")]
)
def test_what_a_name_asks_for(tmp_path, name, asks):
    """A name that begins with the learner's says for which exercise a file is; any other name is the learner's own business."""
    assert asked_for(tmp_path / name, "ann") == asks


def test_what_may_be_an_answer_is_told(tmp_path):
    """An archive, and what has an exercise's name and cannot be read, are told; a learner's other files are the learner's own business."""
    put(tmp_path, "ann/all.zip", "ann/deep/retry.ipynb.txt", "ann/saga.pdf", "ann/notes.txt", "ann/picture.png", "ann/retry.py")
    assert collected(tmp_path) == ({"ann": ["ann/all.zip", "ann/deep/retry.ipynb.txt", "ann/saga.pdf", "ann/retry.py"]}, [])


def test_all_that_somebody_handed_in_is_told(tmp_path):
    """Where there is nothing that can be read, all other files are told, but no crowd of them."""
    put(tmp_path, "ann/homework.docx", "bob/screen.png", *(f"cid/{number:02}.jpg" for number in range(MOST_TOLD + 2)))
    (tmp_path / "bob/link.txt").symlink_to(tmp_path / "ann/homework.docx")
    crowd = [f"cid/{number:02}.jpg" for number in range(MOST_TOLD)]
    assert collected(tmp_path) == ({"ann": ["ann/homework.docx"], "bob": ["bob/screen.png"], "cid": crowd}, ["bob/link.txt"])


def test_links_lead_nowhere(tmp_path):
    """A link to a folder is not entered, one to a file or a pipe at the top is nobody's; below a folder it is left to the reader, who refuses it."""
    put(tmp_path / "class", "ann/retry.ipynb")
    put(tmp_path / "elsewhere", "secret.ipynb")
    os.mkfifo(tmp_path / "class/bob__retry.py")
    for name, target in (("cid", "elsewhere"), ("ann/more", "elsewhere"), ("dan__retry.ipynb", "elsewhere/secret.ipynb"), ("ann/up", "class")):
        (tmp_path / "class" / name).symlink_to(tmp_path / target)
    learners, strays = collected(tmp_path / "class")
    assert learners == {"ann": ["ann/retry.ipynb"]}
    assert strays == ["ann/more", "ann/up", "bob__retry.py", "cid", "dan__retry.ipynb"]


def test_too_many_and_too_deep(tmp_path):
    """Of too many files the first count and one line tells of the others; folders nested without end are told and left."""
    put(tmp_path, *(f"ann/{number:03}.py" for number in range(MOST_FILES + 2)))
    deep = tmp_path / "bob"
    put(tmp_path, "bob/" + "d/" * (DEEPEST - 1) + "in.py", "bob/" + "d/" * DEEPEST + "out.py")
    found = collect(tmp_path, ASSIGNMENTS)
    assert [path.name for path in found.learners["ann"]] == [f"{number:03}.py" for number in range(MOST_FILES)]
    assert [path.name for path in found.learners["bob"]] == ["in.py"]
    assert found.strays == ["ann: 2 files too many", str((deep / "/".join("d" * DEEPEST)).relative_to(tmp_path))]


def test_a_folder_that_cannot_be_opened(tmp_path, monkeypatch):
    """It is told, and costs its own files only."""
    real = os.scandir

    def closed(place):
        if str(place).endswith("closed"):
            raise PermissionError("no")
        return real(place)

    put(tmp_path, "ann/closed/retry.ipynb", "ann/retry.ipynb", "bob/closed/x.py")
    monkeypatch.setattr(module.os, "scandir", closed)
    assert collected(tmp_path) == ({"ann": ["ann/retry.ipynb"], "bob": []}, ["ann/closed", "bob/closed"])


def test_names_that_cannot_be_printed(tmp_path):
    """Line ends, escapes and bytes that are no text stay apart as names, and a stray is one printable line."""
    raw = os.fsencode(tmp_path)
    for name in (b"a\nb", b"a b", b"\xff", b"a\x1b[2J"):
        os.makedirs(os.path.join(raw, name))
        with open(os.path.join(raw, name + b".txt"), "wb"):
            pass
    found = collect(tmp_path, ASSIGNMENTS)
    assert sorted(found.learners) == ["a\nb", "a\x1b[2J", "a b", "\udcff"]
    assert len(found.strays) == 4
    assert all(stray.isprintable() and stray.encode() for stray in found.strays)


def test_nothing(tmp_path):
    """An empty folder holds nobody."""
    assert collected(tmp_path) == ({}, [])
