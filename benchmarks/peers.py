"""An environment of its own for each peer, made when it is first needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OURS = HERE.parent


def python_of(name: str, packages: tuple[str, ...]) -> str:
    """The interpreter of the environment `name` that holds these packages; without packages it is this one."""
    if not packages:
        return sys.executable
    place = HERE / ".venv" / name
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (place / "whole").exists():
        print(f"making {place.relative_to(OURS)}: {', '.join(packages)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        (place / "whole").touch()
    return str(python)


def installed(title: str, name: str, packages: tuple[str, ...]) -> bool:
    """Whether it can be measured here; says why not."""
    try:
        python_of(name, packages)
    except subprocess.CalledProcessError as error:
        print(f"{title} is left out: {error}")
        return False
    return True


def surroundings(packages: tuple[str, ...]) -> dict[str, str]:
    """The variables that a peer's process starts with: labkit's own scripts find labkit."""
    return dict(os.environ) if packages else {**os.environ, "PYTHONPATH": str(OURS)}


def hear(process: subprocess.Popen[str], word: str = "") -> str:
    """The next line of a peer's process, without its end; `word` is what it must be."""
    said = process.stdout.readline() if process.stdout else ""
    if not said or (word and said != f"{word}\n"):
        raise SystemExit(f"{process.args} said {said!r}{word and f' instead of {word!r}'}")
    return said.strip()
