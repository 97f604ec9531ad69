"""`labkit mcp`: the shared states of one database over stdio, or over HTTP on this machine only.

Over stdio standard output carries the protocol and nothing else, each line that is no message is answered too, and the server ends when its client
closes the other side. Over HTTP it listens at 127.0.0.1, answers `/mcp`, refuses a foreign Host or Origin (a page in a browser cannot reach it under
another name), says in its first line where it listens, and ends at SIGTERM or Ctrl-C.

Not handled here: another machine. Nothing here asks who is calling, so nothing here listens to the outside.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Callable

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from sqlalchemy import Engine

from labkit.agent.states import AgentStates
from labkit.errors import UsageError
from labkit.mcp_server.server import CONNECTIONS, StateServer
from labkit.mcp_server.unreadable import Answered
from labkit.opening import open_named
from labkit.serving import listening, serve_until_told

HOST = "127.0.0.1"
PATH = "/mcp"
INTERRUPTED = 130
GRACE_SECONDS = 3  # for clients to finish in, when the server is told to stop


def serve(database_url: str, *, port: int | None, say: Callable[[str], object]) -> int:
    """Serve until the client or the system ends it; without a port over stdio. `UsageError` for what cannot be used."""
    engine = open_named(database_url, pool_size=CONNECTIONS)
    try:
        if port is None:
            _over_stdio(engine)
        else:
            _over_http(engine, port, say)
    finally:
        engine.dispose()
    return 0


def _over_stdio(engine: Engine) -> None:
    async def run() -> None:
        server = StateServer(AgentStates(engine)).server
        async with stdio_server() as (read, write):
            await server.run(Answered(read, write), write, server.create_initialization_options())

    gone = False
    # subtle: a thread waits for the next line, and nothing can call it back; what is written is whole or not there
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        anyio.run(run)
    except* BrokenPipeError:  # subtle: what is raised in here would be a group too
        gone = True
    finally:
        signal.signal(signal.SIGINT, before)
    if gone:
        raise BrokenPipeError


def _over_http(engine: Engine, port: int, say: Callable[[str], object]) -> None:
    states = StateServer(AgentStates(engine))
    app = states.server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS, ws="none")
    with _listening(port) as listener:
        say(f"serving at http://{HOST}:{listener.getsockname()[1]}{PATH}")
        serve_until_told(listener, config, states.streams.close)


def _listening(port: int) -> socket.socket:
    try:
        return listening(HOST, port)
    except OSError as error:
        why = "something else listens there" if error.errno == errno.EADDRINUSE else error.strerror
        raise UsageError(f"--http {port}: {why}; take another port, or 0 for any that is free") from error
