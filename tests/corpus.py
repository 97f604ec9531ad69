"""Where the answers lie that prove the checks, and what they are called in a test."""

from pathlib import Path

from tests.checkout import ROOT

ANSWERS = ROOT / "tests/answers"
RIGHT = sorted(ANSWERS.glob("*/right/*.py"))
WRONG = sorted(ANSWERS.glob("*/wrong/*.py"))
DIAGNOSED = "# diagnosed: "


def name(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


def exercise(path: Path) -> str:
    return path.parent.parent.name
