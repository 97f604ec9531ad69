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
    for level in (0, 4, "2", None):
        with pytest.raises(UsageError, match="1 to 3"):
            lab.hint("warmup", level)


def test_an_answer_that_is_given_is_taken():
    """An empty text is an answer too, and what is no text is refused in words."""
    assert "does not define effect_key" in repr(lab.check("warmup", ""))
    assert "does not define effect_key" in repr(lab.show("warmup", ""))
    assert "given as its source" in repr(lab.check("warmup", len))


@pytest.mark.parametrize("call", ["check('rety')", "check(['retry'])", "show('nope')", "hint('retry', 9)", "hint('retry', '2')"])
def test_a_wrong_name_is_one_line_in_a_notebook(call, capsys):
    """What a cell mistypes is answered in one line, without the way through labkit."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    try:
        assert isinstance(shell.run_cell(f"from labkit import lab\nlab.{call}").error_in_exec, UsageError)
    finally:
        type(shell).clear_instance()
    out, err = capsys.readouterr()
    said = (out + err).strip().splitlines()
    assert [line.split(":")[0] for line in said] == ["UsageError"]


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
    assert "keys: no fault" in repr(lab.show("warmup", RIGHT))
    assert lab.show("warmup", STUB).traces
    assert "does not parse" in repr(lab.show("warmup", "def effect_key(:"))


def test_answer_without_its_line(monkeypatch):
    """An answer that was written anew without its `# labkit:` line is not passed over for an older one; its helpers may be."""
    marked = f"# labkit: warmup\n{RIGHT}"
    monkeypatch.setattr(lab, "_CELLS_RUN", [marked, "helper = 1", WRONG])
    assert "a later cell defines effect_key again, without `# labkit: warmup`" in repr(lab.check("warmup"))
    for cells in ([WRONG, marked], [marked, "helper = 1"], [marked, WRONG, marked]):
        monkeypatch.setattr(lab, "_CELLS_RUN", cells)
        assert "warmup: holds" in repr(lab.check("warmup"))


def test_cells_without_history_are_heard():
    """A cell that is run without history, as nbval does, is found all the same."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    try:
        cells = lab._listen()
        shell.run_cell("# labkit: warmup\nx = 1", store_history=False)
        assert cells[-1].startswith("# labkit: warmup")
    finally:
        type(shell).clear_instance()


def test_a_pass_that_cannot_be_recorded(tmp_path):
    """The verdict is shown all the same, and that it is not remembered."""
    (tmp_path / ".labkit").mkdir()
    (tmp_path / ".labkit" / "copied.json").write_text("{}")
    (tmp_path / ".labkit" / "passed").touch()
    checked = lab.check("warmup", RIGHT)
    for said in (repr(checked), checked._repr_html_()):
        assert ("holds" in said, "not recorded: " in said) == (True, True)


def test_a_stub_names_the_notebooks_own_hint():
    """In a notebook one asks for a hint by a call."""
    assert repr(lab.check("warmup", STUB)).endswith('stuck? hint("warmup")')
