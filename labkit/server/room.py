"""So many requests and WebSockets at once, and no more: the next one is refused with 503 at once, and those that are open do not feel it.

A stream of events counts for as long as it is open, and so does a WebSocket, which the web server that carries us does not count. Whatever ends one (its last
event, a reader that goes, an error) gives its place back.

Not handled here: connections on which nothing is asked. They cost a file descriptor each; the web server counts them along with its requests.
"""

from __future__ import annotations

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

AGAIN_SECONDS = 5  # after which it may be worth another try


class Room:
    """Lets `most` requests and WebSockets at once through to `app`."""

    def __init__(self, app: ASGIApp, *, most: int | None = None) -> None:
        self._app, self._most, self._open = app, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif self._most is not None and self._open >= self._most:
            await _refuse(scope, receive, send)
        else:
            self._open += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._open -= 1


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await receive()
        await send({"type": "websocket.close", "code": 1013})  # its client sees 403
        return
    full = JSONResponse({"error": "as many connections are open as may be"}, 503, headers={"retry-after": str(AGAIN_SECONDS)})
    await full(scope, receive, send)
