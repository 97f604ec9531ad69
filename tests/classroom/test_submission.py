"""What came back is read whatever was done to it, or refused in one line; nothing is run, waited for or reached outside of the file."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.checks.cells import parse
from labkit.classroom.submission import MOST_BYTES, MOST_CELLS, MOST_CODE, Submission, SubmittedCell, Unreadable, read

CELL = {"cell_type": "code", "source": "x = 1", "id": "a", "metadata": {}}


def put(folder, data, name="retry.ipynb"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def cells(folder, *raw, **book):
    return read(put(folder, {"cells": list(raw), "nbformat": 4, **book})).cells


def test_a_notebook(tmp_path):
    """Each cell comes with its number, kind, text, id, labkit metadata and tags; the notebook with its assignment and the release's digest."""
    metadata = {"labkit": {"id": "retry", "role": "solution"}, "tags": ["nbval-skip"]}
    path = put(
        tmp_path,
        {
            "cells": [{"cell_type": "markdown", "source": ["# Try\n", "again"]}, CELL | {"metadata": metadata}],
            "metadata": {"labkit": {"assignment": "retry", "digest": "d1", "version": "1"}},
        },
    )
    both = (SubmittedCell(1, "markdown", "# Try\nagain"), SubmittedCell(2, "code", "x = 1", "a", metadata["labkit"], ("nbval-skip",)))
    assert read(path) == Submission("retry.ipynb", both, "d1", "retry")


def test_format_3(tmp_path):
    """The cells of all worksheets are read; code stands in `input` there."""
    sheets = [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}]}, {"cells": [{"cell_type": "heading", "source": "Two", "level": 1}]}]
    found = read(put(tmp_path, {"nbformat": 3, "worksheets": sheets})).cells
    assert found == (SubmittedCell(1, "code", "x = 1\ny = 2"), SubmittedCell(2, "raw", "Two"))


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (CELL | {"metadata": None}, SubmittedCell(1, "code", "x = 1", "a")),
        (CELL | {"metadata": {"labkit": "retry", "tags": "nbval-skip", "id": 7}, "id": 7}, SubmittedCell(1, "code", "x = 1")),
        ({"cell_type": "code", "source": "x", "metadata": {"id": "of-colab"}}, SubmittedCell(1, "code", "x", "of-colab")),
        ({"source": "x", "outputs": []}, SubmittedCell(1, "code", "x")),
        ({"cell_type": {"a": 1}, "source": "x"}, SubmittedCell(1, "raw", "x")),
        ({"cell_type": "code", "source": ["x\r\n", None, 3, "y\r"]}, SubmittedCell(1, "code", "x\ny\n")),
        ({"cell_type": "code", "source": {"x": 1}}, SubmittedCell(1, "code", "")),
        ({}, SubmittedCell(1, "raw", "")),
    ],
)
def test_odd_cells(tmp_path, raw, found):
    """What has another type than the format wants counts as absent; a cell is never lost."""
    assert cells(tmp_path, raw) == (found,)


def test_what_is_no_cell_is_left_out(tmp_path):
    """Numbers, texts and lists among the cells are no cells."""
    assert cells(tmp_path, None, 1, "x = 1", [CELL], CELL) == (SubmittedCell(1, "code", "x = 1", "a"),)


def test_odd_texts(tmp_path):
    """A byte order mark, raw line ends in a text, numbers without end and unknown formats are read; half a character stays with its cell."""
    data = b'\xef\xbb\xbf{"cells": [{"cell_type": "code", "source": "x = 1\n# \\ud800\\u0000"}], "nbformat": ' + b"9" * 6_000 + b"}"
    (cell,) = read(put(tmp_path, data)).cells
    assert cell.source == "x = 1\n# \ud800\0"
    assert parse(cell.source) is None


REFUSED = {
    "empty": (b"", "empty"),
    "blank": (b"\xef\xbb\xbf \r\n", "empty"),
    "zeros": (b"\0" * 20, "empty"),
    "no JSON": (b"x = 1", "not a notebook: it is no JSON"),
    "half": (b'{"cells": [', "not a notebook: it is no JSON"),
    "a list": (b"[]", "it has no cells"),
    "no cells": (b'{"cells": {}}', "it has no cells"),
    "emptied": (b'{"cells": []}', "it has no cells"),
    "deep": (b'{"cells":' * 50_000, "it is no JSON"),
    "a web page": (b"\n<!DOCTYPE html><html>", "a web page, not a notebook"),
    "a page in Latin-1": (b"<html>\xe9", "a web page, not a notebook"),
    "an archive": (b"PK\x03\x04\x14\x00\xff\xff", "an archive, not a notebook"),
    "Latin-1": (b'{"cells": "\xe9"}', "not text in UTF-8"),
    "UTF-16 without its mark": ('{"cells": "\xe9"}'.encode("utf-16-be"), "not text in UTF-8"),
    "half of UTF-16": ('{"cells": []}'.encode("utf-16")[:-1], "not text in UTF-8"),
    "blank UTF-16": (" ".encode("utf-16"), "empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read(tmp_path, name):
    """One line names the file and says what it is."""
    data, said = REFUSED[name]
    with pytest.raises(Unreadable) as error:
        read(put(tmp_path, data))
    assert str(error.value).startswith("retry.ipynb is ") or said == "it has no cells"
    assert said in str(error.value)
    assert "\n" not in str(error.value)


NOT_PYTHON = [b"def f():\n    return '\0'\n", b"# coding: no-such\n\xe9", b"# coding: punycode\n\xe9", b"x = '\xe9'", b"", b"\n \n"]


@pytest.mark.parametrize("data", NOT_PYTHON)
def test_python_that_cannot_be_read(tmp_path, data):
    """A Python file is text in UTF-8 too, or in what its first lines name, where an editor writes that."""
    with pytest.raises(Unreadable):
        read(put(tmp_path, data, "retry.py"))


def test_python(tmp_path):
    """A Python file is one cell of code, with plain line ends."""
    assert read(put(tmp_path, b"\xef\xbb\xbfx = 1\r\ny = 2\r\n", "retry.PY")) == Submission("retry.PY", (SubmittedCell(1, "code", "x = 1\ny = 2"),))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings(tmp_path, encoding):
    """What says by its mark that it is UTF-16 or UTF-32 is read, in a notebook and in a Python file, and a flag says so."""
    for name, data in (("retry.ipynb", json.dumps({"cells": [CELL]})), ("retry.py", "x = 1")):
        found = read(put(tmp_path, data.encode(encoding), name))
        assert [cell.source for cell in found.cells] == ["x = 1"]
        assert [flag.text for flag in found.flags] == [f"{name} is text in {encoding.upper()}, not in UTF-8; it was read all the same"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "koi8-r", "shift_jis"])
def test_a_python_file_that_names_its_encoding(tmp_path, encoding):
    """What Python reads by the line that names the encoding is read; a notebook has no such line."""
    data = f"# -*- coding: {encoding} -*-\nx = '".encode() + {"koi8-r": "да", "shift_jis": "雷"}.get(encoding, "é").encode(encoding) + b"'"
    found = read(put(tmp_path, data, "retry.py"))
    assert found.cells[0].source == data.decode(encoding)
    assert [flag.kind for flag in found.flags] == ["encoding"]
    with pytest.raises(Unreadable):
        read(put(tmp_path, data))


def test_a_notebook_called_like_python(tmp_path):
    """It is read as what it is, and said; a Python file that begins with a brace is none."""
    found = read(put(tmp_path, {"cells": [CELL]}, "retry.py"))
    assert ([cell.id for cell in found.cells], [flag.kind for flag in found.flags]) == (["a"], ["misnamed"])
    assert read(put(tmp_path, b"{1: 2}", "retry.py")).cells[0].source == "{1: 2}"


def test_lines_without_their_ends(tmp_path):
    """A list of lines of which none ends is a line each; where one does, the others are pieces of a line."""
    assert cells(tmp_path, CELL | {"source": ["x = 1", "y = 2"]})[0].source == "x = 1\ny = 2"
    assert cells(tmp_path, CELL | {"source": ["x = ", "1\n", "y = 2"]})[0].source == "x = 1\ny = 2"


def test_another_kind_of_file(tmp_path):
    """What is called neither a notebook nor a Python file is not opened, and the reason says what to hand in."""
    with pytest.raises(Unreadable, match=r"^not read: hw\.zip: hand in notebooks \(\.ipynb\) or Python files \(\.py\)$"):
        read(tmp_path / "hw.zip")


def test_too_large(tmp_path, monkeypatch):
    """A file over the limit is never opened; one cell too many is said."""
    large = put(tmp_path, b" ", "large.ipynb")
    os.truncate(large, MOST_BYTES + 1)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", lambda *arguments: pytest.fail("it was opened"))
        with pytest.raises(Unreadable, match="5,000,001 bytes"):
            read(large)
    assert len(cells(tmp_path, *[CELL] * MOST_CELLS)) == MOST_CELLS
    with pytest.raises(Unreadable, match="2001 cells"):
        cells(tmp_path, *[CELL] * (MOST_CELLS + 1))


def test_too_much_code(tmp_path):
    """Code beyond all measure is refused, in a notebook and in a Python file; a picture in a text cell is no code."""
    half = "#" * (MOST_CODE // 2)
    assert len(cells(tmp_path, *[CELL | {"source": half}] * 2, {"cell_type": "markdown", "source": half})) == 3
    for data, name in (({"cells": [CELL | {"source": half}] * 2 + [CELL]}, "retry.ipynb"), (b"#" * (MOST_CODE + 1), "retry.py")):
        with pytest.raises(Unreadable, match="characters of code"):
            read(put(tmp_path, data, name))


def test_only_ordinary_files(tmp_path):
    """A folder, a pipe, a link (also one to a good file, to a device, to itself) and what is not there are refused at once."""
    good = put(tmp_path, {"cells": [CELL]}, "good.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    for name, target in (("link", good), ("device", "/dev/zero"), ("loop", "loop.ipynb")):
        (tmp_path / f"{name}.ipynb").symlink_to(target)
    for name in ("folder", "pipe", "link", "device", "loop"):
        with pytest.raises(Unreadable, match="no ordinary file"):
            read(tmp_path / f"{name}.ipynb")
    with pytest.raises(Unreadable, match="cannot be read"):
        read(tmp_path / "nowhere.ipynb")


def test_a_link_in_the_last_moment(tmp_path, monkeypatch):
    """A file that becomes a link between the look and the opening is not followed."""
    path, real = put(tmp_path, {"cells": [CELL]}), os.open

    def swapped(name, *rest):
        path.unlink()
        path.symlink_to(put(tmp_path, {"cells": [CELL]}, "secret.ipynb"))
        return real(name, *rest)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(Unreadable, match="cannot be read"):
        read(path)


def test_names_that_cannot_be_printed(tmp_path):
    """A file's name is one printable line wherever it is told."""
    name = "a\nb\x1b[2J\u202e.ipynb"
    assert read(put(tmp_path, {"cells": [CELL]}, name)).name.isprintable()
    with pytest.raises(Unreadable) as error:
        read(put(tmp_path, b"", name))
    assert str(error.value).isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cells", "cell_type", "source", "input", "metadata", "labkit", "tags", "id", "worksheets"]), inner, max_size=5)
    ),
    max_leaves=15,
)


@settings(max_examples=80)
@given(JSON | st.binary(max_size=40))
def test_anything(tmp_path_factory, value):
    """Any JSON and any bytes are cells with texts, counted from 1, or `Unreadable`: never another error."""
    for name in ("any.ipynb", "any.py"):
        try:
            found = read(put(tmp_path_factory.getbasetemp(), value, name))
        except Unreadable:
            continue
        assert [cell.number for cell in found.cells] == list(range(1, len(found.cells) + 1))
        assert all(isinstance(part, str) for cell in found.cells for part in (cell.kind, cell.source, cell.id, *cell.tags))
        assert isinstance(found.version + found.assignment, str)
