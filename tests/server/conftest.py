"""A real server on a real socket: uvicorn in a thread, as `labkit serve` runs it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import uvicorn
from sqlalchemy import Engine

from labkit.progress.live import LiveLog
from labkit.queue import TaskQueue
from labkit.server.app import make_app
from labkit.server.command import configured
from tests.queue.helpers import until


@dataclass
class Running:
    """A server that runs, and what it holds."""

    url: str
    log: LiveLog
    queue: TaskQueue
    port: int

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False, **options)


@contextmanager
def running(queue: TaskQueue, *, token: str = "", limit: int | None = None, port: int = 0) -> Iterator[Running]:
    """A server for this queue, until the block ends."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    log = LiveLog(queue.engine, poll_seconds=0.02)
    app = make_app(queue, log, token=token, max_open=limit)
    config = configured(app, limit, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(lambda: server.started)
        bound = listening.getsockname()[1]
        yield Running(f"http://127.0.0.1:{bound}", log, queue, bound)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def queue(sqlite: Engine) -> TaskQueue:
    return TaskQueue(sqlite, max_pending=5)


@pytest.fixture
def server(queue: TaskQueue) -> Iterator[Running]:
    with running(queue) as found:
        yield found

