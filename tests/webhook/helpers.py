"""A receiver on loopback that answers as it is told, and tasks that end in every way there is."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from labkit.clock import VirtualClock
from labkit.queue import Lease, TaskQueue
from labkit.webhook import Answer, Deliverer, Delivery, deliveries

CERTIFICATE = Path(__file__).parent / "hook.example.pem"  # of hook.example, signed by itself, with its key; made for these tests
LOOPBACK = ("127.0.0.0/8",)
Behave = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, **headers: str) -> Behave:
    """Answer with this status and these headers."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", "2")
        request.end_headers()
        request.wfile.write(b"ok")

    return behave


def closes(request: BaseHTTPRequestHandler) -> None:
    """Take the request and hang up."""


def babbles(request: BaseHTTPRequestHandler) -> None:
    """Answer something that is not HTTP."""
    request.wfile.write(b"220 mail.example ESMTP \x00\r\n")


class Receiver:
    """Takes every POST, keeps it in `got` as (path, headers, body) and does what is next in `behaviour`, the last one for ever."""

    def __init__(self, *behaviour: Behave, tls: bool = False) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.behaviour = list(behaviour) or [status(200)]
        self.over = threading.Event()  # for those that hang
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers.items()), body))
                behave = receiver.behaviour.pop(0) if len(receiver.behaviour) > 1 else receiver.behaviour[0]
                try:
                    behave(self)
                except OSError:
                    self.close_connection = True  # the sender has hung up

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a refused handshake

        self.server = Server(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


class Told:
    """A send that answers from a list, the last one for ever, and keeps what it was given. An exception in the list is raised."""

    def __init__(self, *answers: int | Answer | BaseException) -> None:
        self.answers, self.got = list(answers) or [200], list[tuple[str, str, bytes]]()

    def __call__(self, delivery_id: str, url: str, body: bytes) -> Answer:
        self.got.append((delivery_id, url, body))
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, BaseException):
            raise said
        return Answer(said) if isinstance(said, int) else said


class Hooks:
    """A queue in virtual time and a deliverer on one database."""

    def __init__(self, engine: Engine, clock: VirtualClock, send: Callable[[str, str, bytes], Answer], **options: Any) -> None:
        self.engine, self.clock = engine, clock
        self.queue = TaskQueue(engine, clock=clock, now=clock.now)
        self.deliverer = Deliverer(engine, clock, send, now=clock.now, **options)

    def claimed(self, url: str | None = "http://hook.example/a", **options: Any) -> Lease:
        """A task with a webhook that somebody works on."""
        self.queue.submit("deploy shop", webhook_url=url, **options)
        task = self.queue.claim("w1")
        assert task is not None
        return Lease.of(task)

    def completed(self, url: str | None = "http://hook.example/a", result: str = "up") -> str:
        return self.queue.complete(self.claimed(url), result).id

    def deliver(self, seconds: float = 200_000.0, most: int = 30) -> int:
        """Deliver until nothing is due for a long time; how many attempts that took."""
        attempts = 0
        for _ in range(most):
            attempts += self.deliverer.run_once()
            self.clock.sleep(seconds / most)
        return attempts

    def of(self, task_id: str) -> Sequence[Delivery]:
        return deliveries(self.engine, task_id)

    def only(self, task_id: str) -> Delivery:
        (found,) = self.of(task_id)
        return found

    def only_state(self, task_id: str) -> str | None:
        """The state of the one delivery of a task; None as long as there is none."""
        found = self.of(task_id)
        return found[0].state if found else None
