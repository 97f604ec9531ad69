"""The house of the lesson's socket: a server, a worker that may be another process, and a page that speaks to the server over a real WebSocket.

Messages go through the ASGI application in this process, without a port, in virtual time: `Line` is the page's end. A `House` has a task of four steps; its
worker looks at its flag and renews its lease before each, as the library's does. `tried` plays one command in one trouble and says what came of it.

Not handled here: the ways to obey (see `sockets`), and drawing what came of them (see `sockets_runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import StaticPool
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocket, WebSocketDisconnect

from labkit.database import open_engine
from labkit.errors import StaleLease
from labkit.lessons.queues import open_queue
from labkit.queue import Lease, TaskQueue
from labkit.server.app import make_app
from labkit.tables import create_tables
from labkit.task import FINAL

STEPS, BEFORE = 4, 2  # steps of the task, and how many are done when the page speaks
COMMANDS: dict[str, dict[str, Any]] = {
    "cancel": {"action": "cancel"},
    "priority": {"action": "priority", "priority": 1},
    "amend": {"action": "amend", "text": "in Oslo", "number": 1},
}
LATE = {"action": "answer", "text": "yes"}  # what nobody asked is refused


def shared_queue() -> TaskQueue:
    """A queue in virtual time whose database the server's threads see, too. They take turns with whoever waits for the reply."""
    engine = open_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    create_tables(engine)
    return open_queue(engine=engine)


@dataclass
class House:
    """A task, and who is there. `server_memory` is what the server's process knows, `worker_memory` the worker's: the same where they are one process."""

    queue: TaskQueue = field(default_factory=shared_queue)
    server_memory: set[str] = field(default_factory=set)
    worker_memory: set[str] = field(default_factory=set)
    done: int = 0

    def __post_init__(self) -> None:
        self.task_id = self.queue.submit("make room on four servers")

    def begin(self) -> None:
        """A worker takes it and does its first steps."""
        self.lease = Lease.of(self.queue.claim("w1"))  # type: ignore[arg-type]
        self.done = BEFORE

    def dies(self) -> None:
        """The worker is gone with its memory; when its lease is over another one goes on, if there is something to go on with."""
        self.worker_memory = set()
        self.queue.clock.sleep(self.queue.lease_seconds + 1)
        if (task := self.queue.claim("w2")) is not None:
            self.lease = Lease.of(task)

    def go_on(self) -> None:
        """Step by step to the end, unless the worker is told to stop."""
        with suppress(StaleLease):
            while self.done < STEPS and "cancel" not in self.worker_memory:
                self.lease = self.queue.heartbeat(self.lease)
                self.done += 1
            if "cancel" in self.worker_memory:
                self.queue.cancel(self.task_id)
            else:
                self.queue.complete(self.lease, "there is room")

    def end(self) -> str:
        task = self.queue.get(self.task_id)
        return f"{task.state} after {self.done} of {STEPS} steps"


Way = Callable[[House, dict[str, Any]], dict[str, Any]]


class Line:
    """A page's end of one socket: say something, hear the reply. None: the other side has hung up."""

    def __init__(self, app: Starlette, task_id: str) -> None:
        opened: AbstractContextManager[WebSocketTestSession] = TestClient(app).websocket_connect(
            f"ws://localhost/api/tasks/{task_id}/control"
        )
        self._opened, self._socket = opened, opened.__enter__()
        self.first, self._gone = self._socket.receive_json(), False

    def say(self, **message: Any) -> dict[str, Any] | None:
        if self._gone:
            return None
        try:
            self._socket.send_json(message)
            reply: dict[str, Any] = self._socket.receive_json()
        except WebSocketDisconnect:
            self._gone = True
            return None
        return reply

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


def app_of(house: House, way: Way | None) -> Starlette:
    """The application that obeys in this way; the library's own for None."""
    if way is None:
        return make_app(house.queue)

    async def control(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_json({})
        with suppress(WebSocketDisconnect):
            while True:
                said = await socket.receive_json()
                try:
                    await socket.send_json(way(house, said))
                except Exception:
                    await socket.close(1011)
                    return

    return Starlette(routes=[WebSocketRoute("/api/tasks/{task_id}/control", control)])


@dataclass(frozen=True)
class Came:
    """What came of a command: the replies to it, and how the task stands at the end."""

    house: House
    replies: tuple[dict[str, Any] | None, ...]

    @property
    def ok(self) -> bool:
        return bool(self.replies and self.replies[-1] and self.replies[-1]["ok"])


def tried(way: Way | None, command: dict[str, Any], *, here: bool = False, dies: bool = False, ended: bool = False, times: int = 1,
          refused: bool = False) -> Came:  # fmt: skip
    """One task, and this command in its middle. `here`: server and worker are one process."""
    house = House()
    if here:
        house.worker_memory = house.server_memory
    house.begin()
    if ended:
        house.go_on()
    line = Line(app_of(house, way), house.task_id)
    if refused:
        line.say(**LATE)
    replies = tuple(line.say(**command) for _ in range(times))
    line.close()
    if dies:
        house.dies()
    if house.queue.get(house.task_id).state not in FINAL:
        house.go_on()
    return Came(house, replies)
