"""Solution marks: what is taken away, what stays, and which marks are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.classroom.marks import BEGIN, END, MarkError, marked, strip

NAME = "retry.ipynb, cell 3"


def test_region_becomes_one_stub_at_its_indent():
    """A region is replaced by `...`; the signature and docstring outside it stay."""
    source = f'def f(x):\n    """Twice x."""\n    {BEGIN}\n    y = 2 * x\n    return y\n    {END}'
    stripped = strip(source, NAME)
    assert stripped.source == 'def f(x):\n    """Twice x."""\n    ...'
    assert stripped.answer == ("    y = 2 * x", "    return y")


def test_cell_without_marks_stays_as_it_is():
    """Nothing is taken from a cell that has no marks."""
    source = "import time\n\nprint('SOLUTION')  # a solution to all"
    assert strip(source, NAME).source == source
    assert not marked(source, NAME)


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("total = price * count  # SOLUTION", "total = ..."),
        ("    total: int = (1 + 2)  # SOLUTION", "    total: int = ..."),
        ("total += 1  # SOLUTION", "total += ..."),
        ("größe = 'ä' * 2  # SOLUTION", "größe = ..."),
        ("a = b = f(1)  # SOLUTION", "a = b = ..."),
        ("    return price * count  # SOLUTION", "    ..."),
        ("log.append(1)  # SOLUTION", "..."),
        ("if done: stop()  # SOLUTION", "..."),
    ],
)
def test_trailing_mark(line, left):
    """A marked assignment keeps its left side; any other marked statement becomes `...`."""
    stripped = strip(line, NAME)
    assert (stripped.source, stripped.answer) == (left, (line,))


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (f"{BEGIN}\n{BEGIN}\n{END}", 2, "begins inside"),
        (f"x = 1\n{BEGIN}\ny = 2", 2, "never closed"),
        (f"x = 1\n{END}", 2, "never began"),
        (f"x = 1  {BEGIN}\n{END}", 1, "alone on its line"),
        ("## BEGIN SOLUTION\nx\n### END SOLUTION", 1, "alone on its line"),
        (f"{BEGIN}\nx\n### end solution", 3, "alone on its line"),
        (f"{BEGIN}\nx = 1  # SOLUTION\n{END}", 2, "inside the region"),
        ("x = 1  # solution", 1, "must read"),
        ("x = 1  ## SOLUTION", 1, "must read"),
        ("x = 1  #SOLUTION", 1, "must read"),
        ("for x in y:  # SOLUTION\n    pass", 1, "one whole statement"),
        ("f(  # SOLUTION\n)", 1, "one whole statement"),
        ("x = 1; y = 2  # SOLUTION", 1, "one whole statement"),
        ("# SOLUTION", 1, "one whole statement"),
    ],
)
def test_refused_marks(source, line, words):
    """A mark that cannot be meant is an error that names cell and line."""
    with pytest.raises(MarkError, match=words) as caught:
        strip(source, NAME)
    assert f"{NAME}, line {line}" in str(caught.value)


def test_prose_may_speak_of_solutions():
    """A heading is no mark; a real mark in prose is seen."""
    assert not marked("## Solution", NAME, code=False)
    assert marked(f"```\n{BEGIN}\n```", NAME, code=False)


plain = st.text(st.characters(exclude_characters="\n\r#", exclude_categories=("Cs",)), max_size=20)


@given(st.lists(st.tuples(st.booleans(), st.lists(plain, min_size=1, max_size=4)), max_size=6))
def test_strip_keeps_given_lines_and_takes_the_answer(parts):
    """Whatever stands in the regions is taken, whatever stands outside stays, both in order and unchanged."""
    source, kept, taken = [], [], []
    for secret, lines in parts:
        source += [BEGIN, *lines, END] if secret else lines
        kept += ["..."] if secret else lines
        taken += lines if secret else []
    stripped = strip("\n".join(source), NAME)
    assert (stripped.source, list(stripped.answer)) == ("\n".join(kept), taken)
    assert strip(stripped.source, NAME).source == stripped.source


@given(st.lists(st.sampled_from([BEGIN, END, "x = 1", "y = 2  # SOLUTION", "# solution", "## BEGIN SOLUTION"]), max_size=8))
def test_no_mark_survives(lines):
    """Either the marks are refused or none of them is left."""
    try:
        left = strip("\n".join(lines), NAME).source
    except MarkError:
        return
    assert "SOLUTION" not in left
