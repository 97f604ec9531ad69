"""The material is found in a checkout and travels in the wheel, without the solutions."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from labkit import material
from labkit.errors import UsageError

ROOT = Path(__file__).parents[1]


def test_found_in_the_checkout():
    """In a checkout the folders beside the package are the material."""
    assert material.folder("notebooks") == ROOT / "notebooks"
    assert material.folder("exercises") == ROOT / "exercises"


def test_any_other_folder_of_that_name_is_not_taken(tmp_path, monkeypatch):
    """Beside an installed package a folder called `notebooks` is somebody else's."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(material, "PACKAGE", tmp_path / "labkit")
    with pytest.raises(UsageError, match="notebooks are not here"):
        material.folder("notebooks")


@pytest.mark.slow
def test_wheel_carries_the_material(tmp_path):
    """A built wheel, unpacked far from the checkout, fills a work folder; no solution and no test is in it."""
    pytest.importorskip("setuptools", minversion="77")
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("labkit", "notebooks", "exercises", "solutions"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, tree]
    subprocess.run(build, check=True, capture_output=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    (wheel,) = tmp_path.glob("agent_labkit-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert [name for name in names if "solutions" in name or name.startswith("tests")] == []
    assert "labkit/py.typed" in names
    code = "import sys, pathlib; from labkit import workfolder; print(len(workfolder.fill(pathlib.Path('work')).did))"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": "installed"}, capture_output=True, text=True)
    notebooks = [path for kind in material.KINDS for path in material.files(kind) if path.name != "manifest.json"]
    assert (run.stderr, run.stdout.strip()) == ("", str(len(notebooks)))
