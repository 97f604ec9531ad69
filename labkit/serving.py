"""A server on a socket of its own, which ends when it is told to: with 0 for SIGTERM, with 130 for Ctrl-C, and without waiting for streams.

The socket takes connections from the moment it is there, so whoever is told the address is not refused. What would not end by itself is
closed first, then the server lets its clients finish for a while.

Not handled here: what is served, and to whom (see `server` and `mcp_server`).
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

BACKLOG = 2_048


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections; whatever keeps it from that is the system's `OSError`."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def serve_until_told(listener: socket.socket, config: uvicorn.Config, close: Callable[[], object]) -> None:
    """Serve until SIGTERM, or until Ctrl-C, which is raised then. `close` ends what would not end by itself."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # subtle: uvicorn raises it once more after it has stopped
    server = _Ending(config, close)
    server.run(sockets=[listener])
    if server.interrupted:
        raise KeyboardInterrupt  # as uvicorn does most times


class _Ending(uvicorn.Server):
    """Calls `close` first when it stops, and remembers whether it was Ctrl-C."""

    def __init__(self, config: uvicorn.Config, close: Callable[[], object]) -> None:
        super().__init__(config)
        self._close, self.interrupted = close, False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.interrupted = sig == signal.SIGINT
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close()
        await super().shutdown(sockets)
