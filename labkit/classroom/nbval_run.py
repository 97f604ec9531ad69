"""One run of nbval over a folder of notebooks, with a pytest that nothing but our own words can configure.

pytest, the notebooks and the report are on the grader's side, in a folder that is not the kernels': behind the walls of a box nobody inside can write the
report. No conftest, ini file, plugin or variable of whoever grades, or of what is graded, takes part.

Not handled here: what is in the notebooks and what becomes of the report (see `public`), and what nbval is kept from believing (see `guard`).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from labkit.checks.texts import printable
from labkit.classroom.lifeline import Lifeline
from labkit.errors import UsageError
from labkit.faults.nursery import module_path

PASSED, FAILED, ERROR, TIMEOUT, BLOCKED, TAMPERED = "passed", "failed", "error", "timeout", "blocked", "tampered"
CELL, ID, STATE, MESSAGE = "labkit-cell", "labkit", "labkit-state", "labkit-message"  # properties in the report
CANARY = "canary"  # the role of the cell that must raise
NOT_RUN = "the cell was not run"
OF_OTHERS = ("PYTEST_", "NBVAL_", "COVERAGE_", "JUPYTER_", "IPYTHON")  # variables that would change the run
SLACK = 60.0  # seconds for what is around a cell
INI = "[pytest]\naddopts =\njunit_family = xunit1\njunit_logging = no\n"
OPTIONS = "-p nbval.plugin -p labkit.classroom.guard -p no:cacheprovider --noconftest --color=no --tb=short -q --nbval-lax --nbval-current-env"
# subtle: a grammar of addresses in letters of all countries, which a notebook's format would ask for, takes seconds to load
BEGIN = "import sys; sys.modules['rfc3987_syntax'] = None; from labkit.classroom.lifeline import hang_on; hang_on()"
PYTEST = f"{BEGIN}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@dataclass(frozen=True)
class Plan:
    """The command that starts the kernels' parent, its environment, the folder of the kernels, and what the checks of each notebook need loaded.

    All of it ends with the `lifeline`. `sent` is the wire to a first parent that is there already.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    preload: Mapping[str, Sequence[str]]
    lifeline: Lifeline
    sent: socket.socket | None = None

    def write(self, place: Path) -> None:
        said = {
            "command": list(self.command),
            "folder": str(self.folder),
            "environment": dict(self.environment),
            "preload": dict(self.preload),
            "sent": self.sent.fileno() if self.sent is not None else -1,
        }
        (place / "plan.json").write_text(json.dumps(said))

    @staticmethod
    def read(file: Path) -> dict[str, Any]:
        """What was written, and `broken`, where it is told that no kernel can be started at all."""
        return {**json.loads(file.read_bytes()), "broken": file.with_name("broken")}


def inside(folder: Path, environment: Mapping[str, str] | None) -> dict[str, str]:
    """The kernels' environment: what the box says, and where labkit is."""
    plain = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder)}
    return {**(plain if environment is None else environment), "PYTHONPATH": os.pathsep.join(module_path())}


def run_nbval(place: Path, plan: Plan, timeout: float, cells: int) -> str:
    """Run all notebooks in this folder; returns why it broke off, "" where it did not. How pytest ends decides nothing else.

    Raises `UsageError` where no kernel can be started.
    """
    plan.write(place)
    (place / "pytest.ini").write_text(INI)
    ours = f"-c pytest.ini --rootdir . --labkit-plan plan.json --junitxml junit.xml --nbval-cell-timeout {timeout}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(OF_OTHERS)}
    environment |= {"PYTHONPATH": os.pathsep.join(module_path()), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-P", "-c", PYTEST, *OPTIONS.split(), *ours.split(), "."]
    longest = (cells + 2) * (timeout + SLACK)
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=place,
            stdin=plan.lifeline.end,
            start_new_session=True,  # subtle: Ctrl-C is for whoever started us, who then cuts the line
            pass_fds=[plan.sent.fileno()] if plan.sent is not None else [],
            capture_output=True,
            timeout=longest,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "the run of the notebooks did not come to its end"
    if (place / "broken").exists():
        raise UsageError(f"no notebook can be run: {printable((place / 'broken').read_text(encoding='utf-8'))}")
    said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines() or [
        f"pytest ended with {done.returncode}"
    ]
    return "" if (place / "junit.xml").exists() else f"the run of the notebooks broke off: {printable(said[-1])[:200]}"


def report(place: Path) -> dict[str, tuple[str, str]]:
    """For each cell that is in the report, as `notebook number`, its state and the line on it."""
    try:
        cases = ElementTree.parse(place / "junit.xml").iter("testcase")
    except (OSError, ElementTree.ParseError):
        return {}
    return dict(filter(None, map(_case, cases)))


def _case(case: ElementTree.Element) -> tuple[str, tuple[str, str]] | None:
    told = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
    if CELL not in told:
        return None
    error = case.find("error")
    why = f"{NOT_RUN}: {printable(error.get('message', ''))[:200]}" if error is not None else NOT_RUN
    return told[CELL], (told.get(STATE, ERROR), told.get(MESSAGE, why))
