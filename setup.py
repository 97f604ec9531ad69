"""Puts the lessons and the exercises into the wheel, under `labkit/_material`; the solutions stay at home.

Everything else about the distribution stands in pyproject.toml. An editable install copies nothing: a checkout is its own material.
"""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
KINDS = ("notebooks", "exercises")


class BuildWithMaterial(build_py):
    """`build_py` that also carries the notebooks."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for source, target in self._material():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def _material(self) -> list[tuple[Path, Path]]:
        into = Path(self.build_lib) / "labkit" / "_material"
        files = [path for kind in KINDS for path in sorted((HERE / kind).rglob("*")) if path.is_file()]
        return [(path, into / path.relative_to(HERE)) for path in files if ".ipynb_checkpoints" not in path.parts]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        own = [] if self.editable_mode else [str(target) for _, target in self._material()]
        return super().get_outputs(include_bytecode) + own


setup(
    packages=find_packages(include=["labkit", "labkit.*"]),
    package_data={"labkit": ["py.typed"], "labkit.server.page": ["*.html", "*.js", "*.css"], "labkit.invariants": ["*.jsonl"]},
    cmdclass={"build_py": BuildWithMaterial},
)
