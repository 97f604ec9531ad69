"""The instructor's page, followed to the letter: every block is run, from the first to the last, in one place."""

import csv
import os
import re
import subprocess

import pytest

from tests.checkout import ROOT, environment

PAGE = (ROOT / "notebooks/instructor/README.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """What each block printed, and the folder in which they were run."""
    here = tmp_path_factory.mktemp("term")
    env = environment(tmp_path_factory.mktemp("home")) | {"LABKIT": str(ROOT)}
    script = "set -e\n" + "\n".join(f"echo '@@ {number}'\n{block}" for number, block in enumerate(BLOCKS))
    run = subprocess.run(["bash", "-c", script], cwd=here, env=env, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    said = re.split(r"^@@ \d+\n", run.stdout, flags=re.MULTILINE)[1:]
    return dict(zip(BLOCKS, said, strict=True)), here


def said_by(followed, words):
    return next(said for block, said in followed[0].items() if words in block)


@pytest.mark.slow
def test_the_gradebook(followed):
    """Ann has everything, Bob a part of retry, Cleo nothing and a flag that says which file cannot be read."""
    with open(followed[1] / "report/grades.csv", newline="") as file:
        rows = {row["learner"]: row for row in csv.DictReader(file)}
    assert rows["ann"]["total"] == rows["ann"]["max"] == "18"
    assert 0 < float(rows["bob"]["retry"]) < 8
    assert rows["bob"]["idempotency"] == rows["cleo"]["total"] == "0"
    assert "unreadable" in rows["cleo"]["flags"]


@pytest.mark.slow
def test_an_exercise_of_ones_own(followed):
    """The right answers hold, the wrong ones do not, and the course with the new master is fit to be handed out."""
    said = said_by(followed, "for file in course/answers")
    assert re.findall(r"^announce: (\w+)", said, re.MULTILINE) == ["holds"] * 3 + ["broken"] * 6
    assert said_by(followed, "labkit exercises").splitlines()[-1].split()[0] == "announce"
    assert "lint: nothing to mend" in said_by(followed, "labkit exercises")
    assert (followed[1] / "course/exercises/announce.ipynb").is_file()


def test_the_page_is_in_the_checkout():
    """The page is where the README says, and its blocks are found."""
    assert len(BLOCKS) >= 10
    assert "notebooks/instructor/README.md" in (ROOT / "README.md").read_text()
    assert os.path.isdir(ROOT / "notebooks/instructor")
