"""JupyterLab as a learner sees it: `labkit lab` opens the first lesson, and it renders."""

import json

import pytest

from tests.browsing import headless_browser
from tests.checkout import TOKEN, environment, lab_server

FIRST = "notebooks/00-start-here.ipynb"


@pytest.fixture
def page():
    """A page of a headless browser; skipped where there is none, but not in CI."""
    with headless_browser() as browser:
        yield browser.new_page()


@pytest.mark.slow
def test_first_lesson_renders(page, tmp_path):
    """The page shows the heading of the first lesson and prompts, with a kernel that is ready."""
    pytest.importorskip("jupyterlab")
    env = environment(tmp_path / "home")
    with lab_server(["labkit", "lab", "work", "--no-browser"], tmp_path, env) as address:
        page.goto(f"{address}/lab/tree/{FIRST}?token={TOKEN}")
        heading = page.locator(".jp-NotebookPanel h1").first
        heading.wait_for(timeout=60_000)
        cells = json.loads((tmp_path / "work" / FIRST).read_text())["cells"]
        title = next(line for cell in cells for line in cell["source"] if line.startswith("# "))
        assert heading.inner_text().rstrip("¶").strip() == title.removeprefix("# ").strip()
        page.locator(".jp-NotebookPanel .jp-InputPrompt").first.wait_for(timeout=60_000)
        # Also: a server that is told to stop while a kernel is still starting does not stop.
        page.locator('.jp-NotebookPanel [data-status="idle"]').first.wait_for(state="attached", timeout=60_000)
        page.screenshot(path=tmp_path / "lesson.png")
