"""The normal form of notebooks: stable, complete, and the same for every stored one."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.classroom.normalise import WIDGET, main, normalise
from labkit.classroom.notebook import dump, load

ROOT = Path(__file__).parents[2]


def code(source="", count=None, outputs=(), **more):
    return {"cell_type": "code", "source": source, "execution_count": count, "outputs": list(outputs), "metadata": {}, **more}


def prose(source="", **more):
    return {"cell_type": "markdown", "source": source, "metadata": {}, **more}


def book(*cells, **metadata):
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(count=None, **data):
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": count}


def test_counts_run_from_one_over_the_cells_that_ran():
    """Counts are 1..n in order, in results too; a cell that never ran keeps none."""
    cells = normalise(book(code("a", 7, [shown(7)]), prose("text"), code("b"), code("c", None, [stream("hi")])))["cells"]
    assert [cell.get("execution_count") for cell in cells] == [1, None, None, 2]
    assert cells[0]["outputs"][0]["execution_count"] == 1


def test_ids_are_kept_made_and_unique():
    """A valid id stays, a doubled or missing one is made from the content, or from the labkit id."""
    named = code("c", metadata={"labkit": {"id": "retry", "role": "solution", "schema": 1}})
    cells = normalise(book(code("a", id="one"), code("b", id="one"), code("b", id="not valid"), code("b"), named))["cells"]
    ids = [cell["id"] for cell in cells]
    assert (ids[0], ids[4]) == ("one", "retry")
    assert ids[2] == f"{ids[1]}-2"
    assert len(set(ids)) == len(ids)


def test_a_made_id_does_not_depend_on_the_place():
    """A cell that is moved keeps the id that was made for it."""
    first, second = normalise(book(code("a"), code("b")))["cells"]
    assert [cell["id"] for cell in normalise(book(code("b"), code("a")))["cells"]] == [second["id"], first["id"]]


def test_machine_state_goes():
    """Timing, widgets, editors' keys and the Python version are dropped; an author's keys stay."""
    cell = code("a", 1, [shown(1, **{WIDGET: {"model_id": "x"}, "text/plain": ["IntSlider()"]})])
    cell["metadata"] = {"execution": {"iopub.status.busy": "now"}, "scrolled": True, "tags": ["hide"], "collapsed": False}
    new = normalise(book(cell, widgets={"state": 1}, language_info={"version": "3.11.7"}, labkit={"version": "2"}))
    assert new["metadata"]["labkit"] == {"version": "2"}
    assert new["metadata"]["kernelspec"]["name"] == "python3"
    assert new["metadata"]["language_info"] == {"name": "python"}
    assert new["cells"][0]["metadata"] == {"tags": ["hide"]}
    assert new["cells"][0]["outputs"][0]["data"] == {"text/plain": ["IntSlider()"]}
    assert "widgets" not in new["metadata"]


def test_pieces_of_a_stream_are_joined():
    """How a stream was cut does not show; two different streams stay two."""
    outputs = [stream("a"), stream(["b\n", "c"]), stream("d", "stderr"), stream("e")]
    (cell,) = normalise(book(code("x", 1, outputs)))["cells"]
    assert [output["text"] for output in cell["outputs"]] == [["ab\n", "c"], ["d"], ["e"]]


def test_line_ends_become_plain():
    """CRLF and a source in one piece are stored as the format wants."""
    (cell,) = normalise(book(prose("one\r\ntwo\rthree")))["cells"]
    assert cell["source"] == ["one\n", "two\n", "three"]


texts = st.text(max_size=20)
names = st.one_of(st.none(), st.sampled_from(["a", "b", "not valid", ""]), st.integers())
outputs = st.one_of(
    st.builds(stream, texts, st.sampled_from(["stdout", "stderr"])),
    st.builds(lambda text: shown(3, **{"text/plain": text, "image/png": "abc", "application/json": {"a": text}}), texts),
)
codes = st.builds(
    code, texts, st.one_of(st.none(), st.integers(0, 99)), st.lists(outputs, max_size=3), id=names, metadata=st.just({"trusted": True})
)
books = st.lists(st.one_of(codes, st.builds(prose, texts, id=names)), max_size=6).map(lambda cells: book(*cells))


@given(books)
def test_normalising_is_idempotent_and_pure(given_book):
    """Once is enough, also through a file; the notebook that was given stays as it was."""
    before = copy.deepcopy(given_book)
    once = normalise(given_book)
    assert given_book == before
    assert dump(normalise(json.loads(dump(once)))) == dump(once)
    assert len({cell["id"] for cell in once["cells"]}) == len(once["cells"])


def test_normal_form_is_a_valid_notebook(tmp_path):
    """The notebook library accepts the normal form and writes it back with the same cells."""
    nbformat = pytest.importorskip("nbformat")
    path = tmp_path / "a.ipynb"
    path.write_bytes(dump(normalise(book(code("a\nb", 5, [stream("x\ny"), shown(5, **{"text/plain": "z"})]), prose("t")))))
    read = nbformat.read(path, as_version=4)
    nbformat.validate(read)
    assert json.loads(nbformat.writes(read)) == json.loads(path.read_bytes())


def test_command_checks_then_writes(tmp_path, capsys):
    """`--check` names what is not normal and ends with 1; without it the file is mended, and then all is well."""
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(book(code("a", 5))))
    assert main(["--check", str(tmp_path)]) == 1
    assert "a.ipynb" in capsys.readouterr().out
    assert main([str(path)]) == 0
    assert main(["--check", str(path)]) == 0
    assert load(path)["cells"][0]["execution_count"] == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"[]", b'{"cells": 1}', b'{"nbformat": 3, "cells": []}', b"\xff\xfe\x00", b'{"nbformat": 4, "cells": [1]}', b"[" * 99999],
)
def test_unusable_files_end_in_two(tmp_path, capsys, content):
    """A file that is no notebook of format 4 is named in one line; the exit code is 2."""
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    assert main([str(path)]) == 2
    said = capsys.readouterr().err
    assert "a.ipynb" in said
    assert said.count("\n") == 1
    assert path.read_bytes() == content


def test_missing_file_ends_in_two(tmp_path, capsys):
    """A path that is not there is unusable input."""
    assert main([str(tmp_path / "none.ipynb")]) == 2
    assert "none.ipynb" in capsys.readouterr().err


def test_runs_as_a_module(tmp_path):
    """`python -m labkit.classroom.normalise` is the command."""
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(book(code("a", 5))))
    run = subprocess.run([sys.executable, "-m", "labkit.classroom.normalise", "--check", path], capture_output=True, text=True, cwd=ROOT)
    assert (run.returncode, run.stderr) == (1, "")


def test_stored_notebooks_are_normal():
    """Every notebook of the checkout is stored in the normal form."""
    paths = [path for kind in ("notebooks", "solutions", "exercises") for path in (ROOT / kind).rglob("*.ipynb")]
    stored = [path for path in paths if ".ipynb_checkpoints" not in path.parts]
    assert stored
    assert [path for path in stored if dump(normalise(load(path))) != path.read_bytes()] == []
