"""`labkit serve`: starts, says where, stops at SIGTERM; what cannot be used is one line and exit 2."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from labkit import cli
from labkit.server import descriptors
from tests.checkout import ROOT

COMMAND = [sys.executable, "-m", "labkit", "serve", "--database-url"]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_stops(tmp_path: Path, stop: signal.Signals) -> None:
    """The first line says where; a stream that is open does not keep it from stopping."""
    command = [*COMMAND, f"sqlite:///{tmp_path}/tasks.db", "--port", "0"]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
            task_id = client.post("/api/tasks", json={"user_input": "x"}).json()["task_id"]
            with client.stream("GET", "/api/progress", params={"task_id": task_id}) as answer:
                assert 200 == answer.status_code
                process.send_signal(stop)
                assert process.wait(30) == (0 if stop == signal.SIGTERM else cli.INTERRUPTED)


class Limits:
    """A platform's `resource`, with limits of its own."""

    RLIMIT_NOFILE, RLIM_INFINITY = 7, -1

    def __init__(self, soft: int, hard: int) -> None:
        self.now = (soft, hard)

    def getrlimit(self, kind: int) -> tuple[int, int]:
        return self.now

    def setrlimit(self, kind: int, limits: tuple[int, int]) -> None:
        self.now = limits


@pytest.mark.parametrize(("before", "after"), [
    ((256, 1_100), (1_100, 1_100)), ((256, 9_000), (1_100, 9_000)), ((256, -1), (1_100, -1)), ((5_000, 9_000), (5_000, 9_000)), ((-1, -1), (-1, -1)),
])  # fmt: skip
def test_files_for_all_connections(before: tuple[int, int], after: tuple[int, int]) -> None:
    """The soft limit is raised to what may be open, and never lowered."""
    limits = Limits(*before)
    descriptors.raise_limit(limits, 1_000, 100)
    assert after == limits.now


def test_more_connections_than_files(tmp_path: Path) -> None:
    """What the hard limit cannot hold is one line and exit 2, before anything is served."""
    command = shlex.join([*COMMAND, f"sqlite:///{tmp_path}/tasks.db", "--port", "0", "--max-open", "900"])
    run = ["sh", "-c", f"ulimit -n 512 && exec {command}"]
    ended = subprocess.run(run, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=False)
    assert (2, "", 1) == (ended.returncode, ended.stdout, ended.stderr.count("\n"))
    assert "--max-open 900" in ended.stderr
    assert "at most 312" in ended.stderr


def test_what_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A port in use, a host that others see without a token, a name that is none, a database that is none: one line that says what to do."""
    url = f"sqlite:///{tmp_path}/tasks.db"
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        for words, says in [
            ([url, "--port", taken], "--port"), ([url, "--host", "0.0.0.0"], "--token"), ([url, "--host", "no such host", "--token", "x"], "--host"),
            (["nonsense"], "--database-url"), ([url, "--port", "99999"], "port"), ([url, "--max-open", "0"], "--max-open"),
            ([url, "--token", "ü"], "--token"), ([url, "--allow-webhook", "somewhere"], "network"),
        ]:  # fmt: skip
            assert 2 == cli.main(["serve", "--database-url", *words])
            line = capsys.readouterr().err
            assert says in line
            assert 1 == line.count("\n")
    assert not (tmp_path / "tasks.db").exists()
