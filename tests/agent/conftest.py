"""Fixtures for the tests of the agent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0  # real seconds in which a stub must have ended


@pytest.fixture(scope="session")
def stub_server() -> Iterator[Callable[[str], str]]:
    """`stub_server(name)` is the base URL of a process that answers as `stub_server.ANSWERS[name]` says; each is started once and ends with the tests."""
    with ExitStack() as running:

        @cache
        def start(name: str) -> str:
            command = [sys.executable, "-m", "tests.agent.stub_server", name]
            stub = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            running.callback(end, stub)
            assert stub.stdout
            return stub.stdout.readline().strip()

        yield start


def end(stub: subprocess.Popen[str]) -> None:
    """A stub ends by itself when its stdin closes; one that does not is a failure."""
    assert stub.stdin
    assert stub.stdout
    stub.stdin.close()
    try:
        assert stub.wait(PATIENCE) == 0
    finally:
        stub.kill()
        stub.wait()
        stub.stdout.close()
