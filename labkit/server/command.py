"""`labkit serve`: the server on a socket, until SIGTERM or Ctrl-C.

It listens on this machine alone unless told otherwise, and then a token is needed. So many requests and WebSockets may be open as it was told;
beyond that the answer is 503. Where the system does not let it have as many files it does not start. Told to stop, it takes no more, ends the
streams, and is gone within a few seconds. In its own thread it delivers the webhooks of tasks that have ended, whichever process took them.

Not handled here: work. Start `labkit worker` on the same database.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from labkit.errors import UsageError
from labkit.opening import open_named
from labkit.progress.live import LiveLog
from labkit.queue import TaskQueue
from labkit.server import descriptors
from labkit.server.guard import LARGEST_BODY, LOOPBACK
from labkit.serving import listening, serve_until_told

CONNECTIONS = 10  # to the database
FILES = 100  # that are no connections of clients: the database's, of webhooks, code
IDLE = 100  # connections beyond those that are asked something
STOP_SECONDS = 3
LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    database_url: str, *, host: str, port: int, names: Sequence[str], token: str, max_open: int, allowed: Sequence[str],
    say: Callable[[str], object],
) -> int:
    """Serve until stopped; `say` is told the address. `UsageError` for what cannot be used."""
    if host not in LOCAL and not token:
        raise UsageError(f"--host {host} is seen by other machines: give a --token that requests must know")
    if not re.fullmatch(r"[!#-+\--:<-\[\]-~]*", token):
        raise UsageError("--token is made of ASCII letters, digits and signs, without blanks, quotes, commas, semicolons and backslashes")
    if max_open < 1:
        raise UsageError("--max-open must be at least 1")
    descriptors.have(max_open, spare=IDLE + FILES)
    from labkit.server.app import make_app
    from labkit.webhook import Deliverer, PinnedPost, Sender, start

    sender = Sender(PinnedPost(allow=allowed))
    with _listen(host, port) as listener:
        engine = open_named(database_url, pool_size=CONNECTIONS)
        log = LiveLog(engine)
        app = make_app(TaskQueue(engine), log, hosts=[*LOOPBACK, _shown(host), *names], token=token, max_open=max_open)
        config = configured(app, max_open, log_level="warning", timeout_graceful_shutdown=STOP_SECONDS)
        say(f"serving on http://{_shown(host)}:{listener.getsockname()[1]}/{f'?token={token}' if token else ''}")
        stop_delivering = start(Deliverer(engine, send=sender))
        try:
            serve_until_told(listener, config, log.close)
        finally:
            stop_delivering()
            engine.dispose()
    return 0


def configured(app: ASGIApp, max_open: int | None, **more: Any) -> uvicorn.Config:
    """The web server that carries the application. A message over a WebSocket may be as long as a body; a longer one ends its connection with 1009."""
    most = None if max_open is None else max_open + IDLE
    return uvicorn.Config(app, limit_concurrency=most, ws_max_size=LARGEST_BODY, server_header=False, **more)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return listening(host, port)
    except socket.gaierror as error:
        raise UsageError(f"--host {host} is no address of this machine: {error.strerror}") from error
    except OSError as error:
        raise UsageError(f"cannot listen on {host} port {port}: {error.strerror or error}; name another --port") from error


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
