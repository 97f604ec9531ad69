"""What turns red in a lesson is labelled as expected, in the same form everywhere."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(path for path in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
LABEL = "# Expected: red\n"
RED = ('class="lk-banner"', 'class="lk-why"', "lk-cell lk-broken", 'td class="lk-broken', 'class="lk-bad"')


def code_cells(lesson):
    return [cell for cell in json.loads(lesson.read_text())["cells"] if cell["cell_type"] == "code"]


def is_red(cell):
    """Whether its page shows something broken, or its text says so."""
    pages = "".join("".join(output.get("data", {}).get("text/html", "")) for output in cell["outputs"])
    words = "".join("".join(output.get("text", "")) for output in cell["outputs"])
    return any(sign in pages for sign in RED) or ": broken (" in words


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_red_cell_begins_with_the_label(lesson):
    """Nobody has to wonder whether the red is a mistake of their own."""
    red = [cell for cell in code_cells(lesson) if is_red(cell)]
    assert red
    assert [cell["id"] for cell in red if not "".join(cell["source"]).startswith(LABEL)] == []
