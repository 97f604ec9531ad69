"""A Python file becomes the cells that it was exported from."""

import pytest

from labkit.classroom.exported import cells

ANSWER = "# labkit: retry\ndef f():\n    return 1"
HEADER = "#!/usr/bin/env python\n# coding: utf-8\n\n# # Try again\n# \n# and again\n\n"


def test_what_jupyter_exports():
    """Code cells come apart at their marks; the text cells behind a code cell, which are comments there, do not belong to it."""
    setup, answer = "from labkit import check\n\n\n# ## Your answer\n# \n# Replace it.", f"{ANSWER}\n\n\n# ## Look"
    text = f"{HEADER}# In[1]:\n\n\n{setup}\n\n# In[ ]:\n\n\n{answer}\n\n# In[*]:\n\n\ncheck('retry')\n"
    assert cells(text)[1:] == ["from labkit import check", ANSWER, "check('retry')"]


def test_what_editors_write():
    """`# %%`, with a title or without, is such a mark too; indented it is a comment."""
    assert cells(f"# %% [markdown]\n# Try\n# %% mine\n{ANSWER}\n    # %% in here\n# %%\nx = 1") == ["# Try", f"{ANSWER}\n    # %% in here", "x = 1"]


@pytest.mark.parametrize("text", [ANSWER, f"import time\n\n{ANSWER}\n# the end", "def (", "# labkit: retry", "x = 1\n\n\n\n# In[1] is no mark\n"])
def test_a_plain_file(text):
    """A file without marks is one cell, as it is."""
    assert cells(text) == [text.strip("\n")]


@pytest.mark.parametrize(
    ("magic", "left"),
    [
        ("get_ipython().run_line_magic('time', 'f()')", "pass"),
        ("get_ipython().system('pip install x')", "pass"),
        (f"get_ipython().run_cell_magic('time', '', {ANSWER!r})", ANSWER),
        ("get_ipython().run_cell_magic('bash', '', 'ls -l /\\n')", "pass"),
        ("get_ipython().run_cell_magic()", "pass"),
        ("x = 1\nget_ipython().run_line_magic(\n    'time',\n    'x')\ny = 2", "x = 1\npass\n\n\ny = 2"),
        ("x = get_ipython().getoutput('ls')", "x = get_ipython().getoutput('ls')"),
        ("shell.system('ls')", "shell.system('ls')"),
    ],
)
def test_magics_of_an_export(magic, left):
    """A timed cell is the cell, other magics are `pass`, and what an answer really uses stays to be looked at."""
    assert cells(f"# In[1]:\n\n\n{magic}\n\n\n# In[2]:\n\n\n") == [left]


def test_magics_of_a_plain_file():
    """In a file that is no export nothing is taken for a magic."""
    assert cells("get_ipython().system('ls')") == ["get_ipython().system('ls')"]


def test_several_exercises_in_one_file():
    """It is cut in front of each further anchor; the same anchor twice cuts nothing."""
    first, second = "import time\n# labkit: retry\nx = 1", "# labkit: backoff\ny = 2"
    assert cells(f"{first}\n\n{second}") == [first, second]
    assert cells(f"{first}\n{first}") == [f"{first}\n{first}"]


def test_nothing():
    """No text, no cells."""
    assert cells("") == cells("\n# In[1]:\n\n# In[2]:\n") == []
