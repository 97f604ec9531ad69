"""What the tests of the whole checkout share: commands as a person would run them, and a server that is stopped by its process."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOKEN = "a-token-for-tests"


def environment(home: Path) -> dict[str, str]:
    """An environment in which `labkit` is found and JupyterLab neither reads nor writes the user's own settings."""
    home.mkdir(exist_ok=True)
    if shutil.which("labkit", path=str(Path(sys.executable).parent)) is None:
        shim = home / "labkit"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m labkit "$@"\n')
        shim.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTEST", "COV"))}
    path = os.pathsep.join([str(home), str(Path(sys.executable).parent), os.environ["PATH"]])
    apart = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    return inherited | apart | {"PATH": path, "PYTHONPATH": str(ROOT), "JUPYTER_TOKEN": TOKEN}


def labkit(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `labkit` in a child, with no terminal."""
    command = [sys.executable, "-m", "labkit", *arguments]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


@contextmanager
def lab_server(command: list[str], cwd: Path, env: dict[str, str]) -> Iterator[str]:
    """Start a `labkit lab ... --no-browser` on a free port, hand out its address, stop it by its process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([*command, "--port", str(port)], cwd=cwd, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert server.stderr
    said = []
    try:
        for line in server.stderr:
            said.append(line)
            if f"http://127.0.0.1:{port}/lab" in line:
                break
        else:
            raise AssertionError(f"the server ended before it was ready:\n{''.join(said)}")
        _wait_until_it_listens(port, server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.communicate()
            raise


def _wait_until_it_listens(port: int, server: subprocess.Popen[str]) -> None:
    """The server says its address a moment before it listens there."""
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            threading.Event().wait(0.01)
