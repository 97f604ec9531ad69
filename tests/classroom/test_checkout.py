"""A checkout that Python knows by an import hook alone, as an editable install makes one: the box is as strong, and the notebooks run."""

import csv
import os
import shutil
import subprocess
import sys

import pytest

from labkit.classroom.box import strongest
from tests.checkout import ROOT

HOOKED = f"""
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package = {str(ROOT / "labkit")!r}
        return importlib.util.spec_from_file_location(name, package + "/__init__.py") if name == "labkit" else None
sys.meta_path.append(Finder)
from labkit.cli import main
sys.exit(main(sys.argv[1:]))
"""


def labkit(*words, cwd):
    """Run a command where no path leads to the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([sys.executable, "-P", "-c", HOOKED, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_class_is_graded(tmp_path):
    """The right answer has its points and no flag, in the strongest box of this machine."""
    (tmp_path / "masters").mkdir()
    shutil.copy(ROOT / "solutions/11-state-management/backoff.ipynb", tmp_path / "masters")
    (tmp_path / "returned/ann").mkdir(parents=True)
    shutil.copy(ROOT / "solutions/11-state-management/backoff.ipynb", tmp_path / "returned/ann")
    done = labkit("grade", "returned", "--out", "report", "--masters", "masters", "--database", "sqlite", cwd=tmp_path)
    assert (0, "") == (done.returncode, done.stderr)
    assert f"isolation: {strongest()};" in done.stdout
    row = next(csv.DictReader((tmp_path / "report/grades.csv").open()))
    assert ("ann", row["max"], "") == (row["learner"], row["total"].removesuffix(".0"), row["flags"])
