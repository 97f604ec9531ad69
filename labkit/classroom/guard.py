"""A pytest plugin that lets nbval run the cells of rebuilt notebooks and believes none of them.

A cell passes only when it neither showed an error nor replied with one. A dead kernel is noticed at once; the cells after it, as those
after a time-out, are `blocked`. A mark that tells nbval to look away counts only in a locked cell. The canary, a cell that must raise what
nobody could know, makes it evident when a kernel hides errors. The state, and the cell's labkit id, go into the properties of the JUnit report.

Not handled here: a kernel that lies about everything but the canary. Its word gives no points.
"""

from __future__ import annotations

import re
import socket
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError  # type: ignore[import-untyped]

from labkit.checks.texts import printable
from labkit.classroom.kernel import Kernel, KernelDied, KernelSilent
from labkit.classroom.kernels import Kernels, NoKernel
from labkit.classroom.nbval_run import (
    BLOCKED,
    CANARY,
    CELL,
    ERROR,
    FAILED,
    ID,
    MESSAGE,
    PASSED,
    STATE,
    TAMPERED,
    TIMEOUT,
    Plan,
)
from labkit.classroom.notebook import about
from labkit.errors import LabkitError

LONGEST_MESSAGE = 300
NO_FILE = re.compile(r"\(\d+\.py, line (\d+)\)")  # the name that a cell has for Python
PLAN = pytest.StashKey[dict[str, Any]]()
KERNELS = pytest.StashKey[Kernels]()


class Blocked(LabkitError):
    """The cell could not be run any more."""


class Late(LabkitError):
    """The cell took too long, and ended well when it was interrupted."""


class Hidden(LabkitError):
    """The cell failed and showed no error."""


class Tampered(LabkitError):
    """The canary did not raise what it must."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--labkit-plan",
        required=True,
        type=Path,
        help="JSON: how kernels are started, and where (see labkit.classroom.nbval_run)",
    )


def pytest_configure(config: pytest.Config) -> None:
    plan = Plan.read(config.getoption("--labkit-plan").absolute())
    config.stash[PLAN] = plan
    sent = socket.socket(fileno=plan["sent"]) if plan["sent"] >= 0 else None
    config.stash[KERNELS] = Kernels(plan["command"], plan["environment"], Path(plan["folder"]), sent)
    config.stash[KERNELS].warm()


def pytest_unconfigure(config: pytest.Config) -> None:
    if KERNELS in config.stash:
        config.stash[KERNELS].close()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    found = yield
    return [GuardedFile.from_parent(parent, path=one.path) for one in found]


class GuardedFile(IPyNbFile):  # type: ignore[misc]
    """A notebook whose kernel lives in the box."""

    blocked = ""  # why no further cell can be run

    def setup(self) -> None:
        kernels, plan = self.config.stash[KERNELS], self.config.stash[PLAN]
        preload = plan["preload"][self.path.stem]
        try:
            self.kernel = Kernel(kernels, preload)
        except NoKernel as error:
            if not kernels.started:
                plan["broken"].write_text(str(error), encoding="utf-8")
                pytest.exit(str(error), returncode=1)
            kernels.close()  # an earlier notebook may have stopped or killed the parent: that is not this one's fault
            self.kernel = Kernel(kernels, preload)

    def teardown(self) -> None:
        if self.kernel is not None:
            self.kernel.stop()

    def collect(self) -> Iterator[GuardedCell]:
        for found in super().collect():
            yield GuardedCell.from_parent(
                self, name=found.name, cell_num=found.cell_num, cell=found.cell, options=found.options
            )


class GuardedCell(IPyNbCell):  # type: ignore[misc]
    """A cell, run by nbval."""

    def __init__(self, name: str, parent: GuardedFile, cell_num: int, cell: Any, options: dict[str, bool]) -> None:
        locked = cell.metadata.get("editable") is False and about(cell).get("role") != "solution"
        super().__init__(name, parent, cell_num, cell, options if locked else defaultdict(bool))
        self.user_properties += [
            (CELL, f"{parent.path.stem} {cell_num}"),
            (ID, about(cell).get("id") or cell.get("id", "")),
        ]

    def setup(self) -> None:
        """Nothing: nbval would expect what follows a time-out to fail."""

    def runtest(self) -> None:
        state, message = PASSED, ""
        try:
            self._run()
        except Exception as error:
            state, message = self._why(error)
            if state in (ERROR, TIMEOUT):
                self.parent.blocked = self.parent.blocked or f"cell {self.cell_num + 1} {WENT_WRONG[state]}"
            raise
        finally:
            self.user_properties += [(STATE, state), (MESSAGE, printable(NO_FILE.sub(r"(line \1)", " ".join(message.split())))[:LONGEST_MESSAGE])]

    def _run(self) -> None:
        if self.parent.blocked:
            raise Blocked(f"not run: {self.parent.blocked}")
        if not self.parent.kernel.is_alive():
            raise KernelDied
        if about(self.cell).get("role") == CANARY:
            return self._sing()
        super().runtest()
        reply = self.parent.kernel.reply
        if self.parent.kernel.late:
            raise Late
        if reply.get("status") != "ok" and not self.options["check_exception"]:
            raise Hidden(f"{reply.get('ename', 'an error')}: {reply.get('evalue', '')} (the cell showed no error)")

    def _sing(self) -> None:
        """The canary must raise its secret, in what is shown and in the reply."""
        with suppress(NbCellError):
            super().runtest()
        wanted = {"ename": "AssertionError", "evalue": about(self.cell)["secret"]}
        shown = [
            {key: one.get(key) for key in wanted} for one in self.test_outputs if one.get("output_type") == "error"
        ]
        reply = self.parent.kernel.reply
        if shown != [wanted] or {key: reply.get(key) for key in ("status", *wanted)} != {"status": "error", **wanted}:
            raise Tampered(
                "the kernel hides errors: a cell that must fail did not, so nothing that it says of its cells counts"
            )

    def _why(self, error: Exception) -> tuple[str, str]:
        """The state of the cell after this error, and one line on it."""
        if isinstance(error, Tampered | Blocked):
            return (TAMPERED if isinstance(error, Tampered) else BLOCKED), str(error)
        if self.parent.kernel.late:
            return TIMEOUT, f"took longer than {self.config.option.nbval_cell_timeout:g} seconds"
        if isinstance(error, KernelDied):
            return ERROR, "the kernel ended: this cell, or what an earlier one left running, ended its process"
        if isinstance(error, KernelSilent) or self.parent.timed_out:
            return ERROR, "the kernel did not say that the cell was done, or said more at once than anybody reads"
        return self._failure(error)

    def _failure(self, error: Exception) -> tuple[str, str]:
        if isinstance(error, Hidden):
            return FAILED, str(error)
        if not isinstance(error, NbCellError):
            return ERROR, f"the cell could not be run: {type(error).__name__}: {error}"
        shown = [one for one in self.test_outputs or () if one.get("output_type") == "error"]
        return FAILED, f"{shown[0].get('ename')}: {shown[0].get('evalue')}" if shown else str(error)


WENT_WRONG = {ERROR: "lost its kernel", TIMEOUT: "took too long"}
