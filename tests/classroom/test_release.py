"""The release: no answer line is left, and what is handed out is exactly what the masters say."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.classroom.marks import BEGIN, END, MarkError
from labkit.classroom.normalise import normalise
from labkit.classroom.notebook import dump, text
from labkit.classroom.release import AnswerLeft, command, release, release_all, telling
from labkit.errors import UsageError

ROOT = Path(__file__).parents[2]
ANSWER = ["    waited = clock.monotonic()", "    # the secret", "    return waited * 2"]


def cell(source, kind="code", **labkit):
    run = {"execution_count": 3, "outputs": [{"output_type": "stream", "name": "stdout", "text": "secret"}]} if kind == "code" else {}
    return {"cell_type": kind, "source": source, "metadata": {"labkit": {"schema": 1, **labkit}} if labkit else {}, **run}


def solution(answer=ANSWER, id="wait", **more):
    source = [f"# labkit: {id}", "def wait(clock):", '    """Wait."""', f"    {BEGIN}", *answer, f"    {END}"]
    return cell("\n".join(source), id=id, role="solution", points=2, **more)


def master(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def example():
    return master(cell("# Wait", "markdown"), solution(), cell('check("wait")', id="wait-check", role="check", points=3))


def sources(book):
    return [text(part["source"]) for part in book["cells"]]


def test_answer_outputs_and_counts_go():
    """The learner gets the signature, the docstring and a stub; nothing of the master's run."""
    book = release(example(), "wait.ipynb")
    assert sources(book)[1] == '# labkit: wait\ndef wait(clock):\n    """Wait."""\n    ...'
    assert all(part["outputs"] == [] and part["execution_count"] is None for part in book["cells"][1:])
    assert b"secret" not in dump(book)


def test_all_but_the_solution_is_locked():
    """Other cells can be neither edited nor deleted; roles and points travel."""
    metadata = [part["metadata"] for part in release(example(), "wait.ipynb")["cells"]]
    assert [(part.get("editable", True), part.get("deletable", True)) for part in metadata] == [
        (False, False),
        (True, True),
        (False, False),
    ]
    assert metadata[1]["labkit"] == {"id": "wait", "role": "solution", "points": 2, "schema": 1}


def test_notebook_says_what_it_is():
    """Assignment, version and the digest of the release stand in the notebook's metadata; the master's own words win."""
    said = release(example(), "21/wait.ipynb")["metadata"]["labkit"]
    assert (said["assignment"], said["version"], said["schema"]) == ("wait", "1", 1)
    named = example() | {"metadata": {"labkit": {"assignment": "waiting", "version": "2"}}}
    other = release(named, "wait.ipynb")["metadata"]["labkit"]
    assert (other["assignment"], other["version"]) == ("waiting", "2")
    assert said["digest"] != other["digest"]


def test_two_answers_release_the_same():
    """The digest tells about what is handed out, never about the answer."""
    other = master(example()["cells"][0], solution(["    return 1"]), example()["cells"][2])
    assert dump(release(example(), "a.ipynb")) == dump(release(other, "a.ipynb"))


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([cell(f"{BEGIN}\nx = 1\n{END}", id="a", role="setup")], "role is not solution"),
        ([cell(f"{BEGIN}\nx = 1\n{END}")], "role is not solution"),
        ([cell(f"{BEGIN}", "markdown")], "role is not solution"),
        ([cell(f"{BEGIN}\nx = 1\n{END}", id="a", role="solution")], "first line"),
        ([cell("# labkit: a\nx = 1", id="a", role="solution")], "has no marks"),
        ([cell(f"# labkit: a\ndef f(:\n{BEGIN}\n{END}", id="a", role="solution")], "no Python"),
        ([cell("x", id="a", role="answer")], "needs id, role"),
        ([cell("x", role="check")], "needs id, role"),
        ([cell("x", id="a", role="check", points="3")], "points"),
        ([cell("x", id="a", role="check"), cell("y", id="a", role="setup")], "in two cells"),
        ([solution([f"    {BEGIN}"])], "begins inside"),
    ],
)
def test_masters_that_cannot_be_released(cells, words):
    """Each is refused with the name of the notebook and of the cell."""
    with pytest.raises(UsageError, match=words) as caught:
        release(master(cell("prose", "markdown"), *cells), "wait.ipynb")
    assert "wait.ipynb" in str(caught.value)


@pytest.mark.parametrize(
    "leak",
    [
        cell("Try this:\n\n    return waited * 2\n", "markdown"),
        cell("def slow(clock):\n    waited = clock.monotonic()", id="a", role="setup"),
        {**cell("x"), "metadata": {"tags": ["return waited * 2"]}},
    ],
)
def test_an_answer_told_elsewhere_is_refused(leak):
    """A line of the answer in prose, in another cell or in metadata stops the release and is named."""
    with pytest.raises(AnswerLeft, match=r"wait\.ipynb, cell 2"):
        release(master(solution(), leak), "wait.ipynb")


def test_what_gives_nothing_away():
    """Keywords, brackets and imports may stand anywhere; names and numbers may not."""
    assert [line for line in ("else:", ")", "return None", "import time", "    ...", "", "finally:") if telling(line)] == []
    assert [line for line in ("x = 1", "return x", "# the idea", "sleep(2)") if not telling(line)] == []


words = st.text("abcxyz", min_size=1, max_size=6)
statements = st.builds(lambda name, other: f"    {name} = {other!r}", words, words)


@given(st.lists(st.tuples(st.lists(statements, max_size=3), st.lists(statements, min_size=1, max_size=3)), min_size=1, max_size=3))
def test_no_answer_line_survives(parts):
    """Given lines and answers in any order: the release holds no line of an answer, or there is none."""
    body = [line for given_lines, answer in parts for line in [*given_lines, f"    {BEGIN}", *answer, f"    {END}"]]
    source = "\n".join(["# labkit: a", "def f():", *body])
    secret = {line.strip() for _, answer in parts for line in answer}
    open_lines = {line.strip() for given_lines, _ in parts for line in given_lines}
    original = master(cell(source, id="a", role="solution"), cell("f()", id="b", role="check"))
    if secret & open_lines:
        with pytest.raises(AnswerLeft):
            release(original, "a.ipynb")
        return
    book = release(original, "a.ipynb")
    left = {line.strip() for part in sources(book) for line in part.split("\n")}
    assert not secret & left
    assert open_lines <= left
    assert dump(release(book, "a.ipynb")) == dump(book)


def test_release_is_normal():
    """The release of a master is in the normal form."""
    book = release(example(), "a.ipynb")
    assert dump(normalise(book)) == dump(book)


@pytest.fixture
def masters(tmp_path):
    folder = tmp_path / "solutions"
    (folder / "11-state").mkdir(parents=True)
    (folder / "11-state" / "wait.ipynb").write_text(json.dumps(example()))
    return folder


def test_command_writes_then_finds_nothing_to_do(masters, capsys):
    """The exercises stand beside the masters under the same paths; a second release writes nothing."""
    written = masters.parent / "exercises" / "11-state" / "wait.ipynb"
    assert command(masters, check=True) == 1
    assert not written.exists()
    assert command(masters) == 0
    assert written.read_bytes() == release_all(masters)["11-state/wait.ipynb"]
    capsys.readouterr()
    before = written.stat().st_mtime_ns
    assert command(masters) == 0
    assert command(masters, check=True) == 0
    assert written.stat().st_mtime_ns == before
    assert capsys.readouterr().out.splitlines() == [f"{masters.parent / 'exercises'}: nothing to change"] * 2


def test_manifest_lists_each_labkit_cell(masters):
    """The manifest has id, role, points, order and digest of every cell that a grader looks for."""
    command(masters)
    manifest = json.loads((masters.parent / "exercises" / "manifest.json").read_text())
    cells = manifest["11-state/wait.ipynb"]["cells"]
    assert [(part["id"], part["role"], part["points"], part["order"]) for part in cells] == [
        ("wait", "solution", 2, 1),
        ("wait-check", "check", 3, 2),
    ]
    assert all(len(part["sha256"]) == 64 for part in cells)


def test_a_lost_master_takes_its_exercise_along(masters):
    """What an earlier release wrote and no master makes any more is removed; a stranger's file stays."""
    command(masters)
    out = masters.parent / "exercises"
    (out / "own.ipynb").write_text("{}")
    (masters / "11-state" / "wait.ipynb").rename(masters / "other.ipynb")
    assert command(masters, check=True) == 1
    assert command(masters) == 0
    assert sorted(path.name for path in out.rglob("*.ipynb")) == ["other.ipynb", "own.ipynb"]


def test_an_error_writes_nothing(masters):
    """One master that cannot be released stops all of them before the first is written."""
    (masters / "z.ipynb").write_text(json.dumps(master(solution([f"    {END}"]))))
    with pytest.raises(MarkError, match=r"z\.ipynb, cell 1, line 6"):
        command(masters)
    assert not (masters.parent / "exercises").exists()


def test_unusable_folders(tmp_path, masters):
    """No masters, a place that is not there, and a release into the masters' own folder are refused."""
    (tmp_path / "empty").mkdir()
    for folder, out in ((tmp_path / "empty", None), (tmp_path / "none", None), (masters, masters), (masters, masters / "out")):
        with pytest.raises(UsageError):
            command(folder, out)


def test_exercises_are_the_release_of_the_solutions():
    """The checkout's exercises are byte for byte what its solutions release."""
    made = release_all(ROOT / "solutions")
    out = ROOT / "exercises"
    stored = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    stored = {name: data for name, data in stored.items() if ".ipynb_checkpoints" not in name}
    assert sorted(stored) == sorted(made)
    assert [name for name in made if made[name] != stored[name]] == []


@pytest.mark.parametrize("check", [False, True])
def test_nothing_is_marked(tmp_path, check):
    """Masters without a cell of ours release nothing: one line, and nothing is written."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "a.ipynb").write_text(json.dumps(master({"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": []})))
    with pytest.raises(UsageError, match=r"nothing to release in .*: no cell is marked"):
        command(tmp_path / "solutions", check=check)
    assert [path.name for path in tmp_path.iterdir()] == ["solutions"]


def test_a_folder_in_the_place_of_a_notebook(masters):
    """It is told before anything is written."""
    blocked = masters.parent / "exercises" / "11-state" / "wait.ipynb"
    blocked.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"wait\.ipynb is a folder: move it away"):
        command(masters)
    assert list((masters.parent / "exercises").rglob("*.ipynb")) == [blocked]
