"""What a notebook calls: friendly where there is no answer yet, and nothing is given away unasked."""

import pytest

from labkit import lab
from labkit.errors import UsageError

WRONG = "def effect_key(task_id, step):\n    return task_id"
RIGHT = "def effect_key(task_id, step):\n    return f'{task_id}:{step}'"
STUB = "def effect_key(task_id, step):\n    ..."


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No work folder of anybody remembers what passes here."""
    monkeypatch.chdir(tmp_path)


def test_no_cell_was_run_yet():
    """`check` and `show` say which cell to run, and raise nothing."""
    for said in (lab.check("warmup"), lab.show("warmup")):
        assert "run the cell that begins with `# labkit: warmup` first" in repr(said)
        assert "# labkit: warmup" in said._repr_html_()


def test_unknown_exercise_and_hint():
    """A name or a number that does not exist is a `UsageError` that lists what does."""
    with pytest.raises(UsageError, match="warmup"):
        lab.check("nonsense")
    with pytest.raises(UsageError, match="1 to 3"):
        lab.hint("warmup", 4)


def test_hint_is_folded():
    """Running all cells unfolds no hint; a terminal shows it."""
    hint = lab.hint("warmup", 3)
    assert hint._repr_markdown_().startswith("<details><summary>Hint 3 of 3, nearly there</summary>")
    assert repr(hint).endswith(hint.text)


def test_check_in_words_and_on_a_page():
    """A wrong answer is drawn, a right one is not, a stub is told so; twice the same gives the same bytes."""
    wrong = lab.check("warmup", WRONG)
    assert "warmup: broken" in repr(wrong)
    assert "The simplest run that breaks it" in wrong._repr_html_()
    assert wrong._repr_html_() == lab.check("warmup", WRONG)._repr_html_()
    assert lab.check("warmup", RIGHT).trace is None
    assert "not attempted" in lab.check("warmup", STUB)._repr_html_()


def test_show_says_what_happens():
    """Each run has a title in words; a stub can be looked at; what does not parse is no traceback."""
    assert "keys: nothing goes wrong" in repr(lab.show("warmup", RIGHT))
    assert lab.show("warmup", STUB).traces
    assert "does not parse" in repr(lab.show("warmup", "def effect_key(:"))


def test_cells_without_history_are_heard():
    """A cell that is run without history, as nbval does, is found all the same."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    try:
        cells = lab._listen()
        shell.run_cell("# labkit: warmup\nx = 1", store_history=False)
        assert cells[-1].startswith("# labkit: warmup")
    finally:
        type(shell).clear_instance()
