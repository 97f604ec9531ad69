"""What an interrupted grader left: used again for the very same input, and for nothing else."""

import pytest

from labkit.checks.judge import HOLDS
from labkit.classroom.gradebook import Row
from labkit.classroom.kept import FOLDER, Kept
from tests.classroom.books import settled

HOW = {"seed": "1"}


@pytest.fixture
def row():
    return Row("ann", {"retry": settled(HOLDS)})


@pytest.fixture
def files(tmp_path):
    file = tmp_path / "retry.ipynb"
    file.write_text("the answer")
    return [file]


def test_the_same_input_finds_its_row(tmp_path, row, files):
    """Another grader with the same files, masters and way of grading finds the row as it was."""
    kept = Kept(tmp_path / "out", HOW, [])
    kept.put(row, kept.key("ann", files))
    again = Kept(tmp_path / "out", HOW, [])
    assert again.get("ann", again.key("ann", files)) == row


def other_text(kept, files, learner):
    files[0].write_text("another answer")
    return kept, files, learner


CHANGES = {
    "a changed file": other_text,
    "one more file": lambda kept, files, learner: (kept, [*files, files[0]], learner),
    "another learner": lambda kept, files, learner: (kept, files, "bob"),
    "another seed": lambda kept, files, learner: (Kept(kept._folder.parent, {"seed": "2"}, []), files, learner),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_input_finds_nothing(tmp_path, row, files, change):
    """Whatever decides about a row and has changed makes it be graded anew."""
    kept = Kept(tmp_path / "out", HOW, [])
    kept.put(row, kept.key("ann", files))
    now, files, learner = CHANGES[change](kept, files, "ann")
    assert now.get(learner, now.key(learner, files)) is None


def test_a_changed_check_of_the_course_grades_anew(tmp_path, row, files, monkeypatch):
    """A course's own exercise decides about a row as labkit does: after it was changed nothing is found, after it was changed back it is."""
    check = tmp_path / "checks" / "announce.py"
    check.parent.mkdir()
    monkeypatch.setenv("LABKIT_EXERCISES", str(check.parent))

    def grader(text):
        check.write_text(text)
        kept = Kept(tmp_path / "out", HOW, [])
        return kept, kept.key("ann", files)

    kept, key = grader("points = 4")
    kept.put(row, key)
    for text, found in (("points = 5", None), ("points = 4", row)):
        kept, key = grader(text)
        assert kept.get("ann", key) == found


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": 1}', b"\xff"])
def test_a_damaged_row_is_graded_anew(tmp_path, row, files, damage):
    """Half a file, or another labkit's, is as good as none."""
    kept = Kept(tmp_path / "out", HOW, [])
    key = kept.key("ann", files)
    kept.put(row, key)
    (place,) = (tmp_path / "out" / FOLDER).iterdir()
    place.write_bytes(damage)
    assert kept.get("ann", key) is None


def test_a_file_that_is_gone_has_a_key_too(tmp_path, files):
    """A file that cannot be read is no reason to stop: its reader will say so."""
    kept = Kept(tmp_path / "out", HOW, [])
    before = kept.key("ann", files)
    files[0].unlink()
    assert kept.key("ann", files) != before
