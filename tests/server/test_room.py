"""As many connections as may be open, on a real server: one more is refused, those that are open hear everything, and every place comes back."""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine

from labkit.progress.update import ProgressUpdate
from labkit.queue import Lease, TaskQueue
from tests.queue.helpers import until
from tests.server.conftest import Running, running

MOST = 1_000  # streams at once
LEAVE = 20  # of them at each point
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"


@pytest.fixture
def files() -> Iterator[None]:
    """Both ends of all connections are files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3 * MOST) if hard == resource.RLIM_INFINITY else min(hard, max(soft, 3 * MOST)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Asked:
    """A connection on which something is asked, whole or nearly so, and what came on it."""

    def __init__(self, server: Running, path: str, more: str = "", *, whole: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), 20)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}".encode() + b"\r\n" * whole)
        self._rest = b""

    def hears(self, text: bytes) -> bytes:
        """What comes up to this text, and with it; or to the end."""
        while text not in self._rest and (part := self.socket.recv(4_096)):
            self._rest += part
        heard, found, self._rest = self._rest.partition(text)
        return heard + found

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()


def status(server: Running, path: str, more: str = "") -> int:
    with Asked(server, path, more) as asked:
        return int(asked.hears(b"\r\n").split()[1])


def let_in(server: Running, path: str) -> Asked:
    """A stream that is open, as soon as there is a place for it."""
    opened: list[Asked] = []

    def tried() -> bool:
        opened[:] = [Asked(server, path)]
        if opened[0].hears(b"\r\n").split()[1] == b"200":
            return True
        opened[0].socket.close()
        return False

    until(tried)
    return opened[0]


def close(stream: Asked) -> None:
    stream.socket.close()


def reset(stream: Asked) -> None:
    """As a machine that is switched off and on."""
    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    stream.socket.close()


def half(stream: Asked) -> None:
    """Say that nothing more will be asked, and wait for the other side."""
    stream.socket.shutdown(socket.SHUT_WR)
    stream.hears(b"never")
    stream.socket.close()


WAYS: list[Callable[[Asked], None]] = [close, reset, half]


def test_as_many_as_may_be(sqlite: Engine, files: None) -> None:
    """A thousand streams are open: one more request, stream or WebSocket is 503; all hear the next event; who leaves at any point makes room for another."""
    queue = TaskQueue(sqlite)
    queue.submit("deploy shop")
    lease = Lease.of(queue.claim("w1"))  # type: ignore[arg-type]
    path, control = f"/api/progress?task_id={lease.task_id}", f"/api/tasks/{lease.task_id}/control"

    def told(step: int) -> bytes:
        queue.progress.append(ProgressUpdate(task_id=lease.task_id, step=step, status="thinking"), lease)
        return b'"step":%d' % step

    with running(queue, limit=MOST) as server, contextlib.ExitStack() as closing:
        streams = [closing.enter_context(Asked(server, path)) for _ in range(MOST)]
        assert {b"HTTP/1.1 200 OK\r\n"} == {stream.hears(b"\r\n") for stream in streams}
        assert [503] * 4 == [status(server, path), status(server, "/api/tasks"), status(server, "/"), status(server, control, UPGRADE)]
        event = told(1)
        assert all(event in stream.hears(event) for stream in streams)
        for leave in WAYS:
            for stream in streams[:LEAVE]:
                leave(stream)
            del streams[:LEAVE]
            for whole in (True, False):  # before anything is answered, and in the middle of asking
                (close if leave is half else leave)(Asked(server, path, whole=whole))
            late = [closing.enter_context(let_in(server, path)) for _ in range(LEAVE)]
            assert all(event in stream.hears(event) for stream in late)
            assert 503 == status(server, path)
            streams += late
        event = told(2)
        assert all(event in stream.hears(event) for stream in streams)
        queue.complete(lease, "up")
        assert all(b'"completed"' in stream.hears(b"0\r\n\r\n") for stream in streams)
        until(lambda: server.log.watched == 0)
        assert 200 == status(server, "/api/tasks")


def test_a_refusal(sqlite: Engine) -> None:
    """It is JSON and says when to come again; a WebSocket takes a place, too, and gives it back."""
    queue = TaskQueue(sqlite)
    task_id = queue.submit("x")
    with running(queue, limit=1) as server:
        with Asked(server, f"/api/tasks/{task_id}/control", UPGRADE) as open_one:
            assert b"101" in open_one.hears(b"\r\n")
            with server.client() as client:
                refused = client.get("/api/tasks")
            assert (503, "5", ["error"]) == (refused.status_code, refused.headers["retry-after"], list(refused.json()))
        until(lambda: status(server, "/api/tasks") == 200)
