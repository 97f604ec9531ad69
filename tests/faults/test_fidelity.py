"""A raised crash leaves what a real SIGKILL leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.faults import Process, Scenario
from labkit.faults.fidelity import TORN, fidelity
from tests.faults import scenarios

SQL = [scenarios.EXECUTE, scenarios.RESUME, scenarios.SAGA]


def write_in_place(process: Process) -> None:
    process.files.write(Path("state"), b"x" * 100)


WRITES_IN_PLACE = Scenario("in_place", write_in_place)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SQL, ids=lambda scenario: scenario.name)
def test_on_sqlite(scenario: Scenario) -> None:
    """The same state at both sides of each of 18 crossings: it begins, reads, writes, commits, and calls outside."""
    found = fidelity(scenario, "sqlite")
    assert found.differences == []
    assert found.compared == {"saga": 36}.get(scenario.name, 18)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("scenario", SQL, ids=lambda scenario: scenario.name)
def test_on_postgresql(scenario: Scenario) -> None:
    """The same there, where a server must notice the death."""
    found = fidelity(scenario, "postgres")
    assert found.differences == []
    assert found.compared == {"saga": 26}.get(scenario.name, 12)


@pytest.mark.slow
def test_in_files() -> None:
    """A store in one file: also a write that got 0, 1 or 20 bytes far."""
    found = fidelity(scenarios.EXECUTE_IN_A_FILE)
    assert found.differences == []
    assert found.compared == 18 + 2 * len(TORN)


def test_a_torn_file_is_torn_alike() -> None:
    """In place, so that the torn bytes are the file."""
    found = fidelity(WRITES_IN_PLACE)
    assert (2 + len(TORN), []) == (found.compared, found.differences)


def buffered(process: Process) -> None:
    handle = (process.world.files_folder / "buffered").open("w")  # that is the point
    handle.write("in a buffer")
    process.clock.sleep(1)
    handle.close()


def cleaned_up(process: Process) -> None:
    try:
        process.clock.sleep(1)
    finally:
        (process.world.files_folder / "cleaned").write_text("up")


@pytest.mark.parametrize("body", [buffered, cleaned_up])
def test_what_goes_past_the_gate_is_caught(body: Callable[[Process], Any]) -> None:
    """The comparison is no formality: a file opened past the file port differs, and is reported with its place."""
    found = fidelity(Scenario("past", body))
    assert found.compared == 2
    assert found.differences
    assert "p1@1." in found.differences[0]
