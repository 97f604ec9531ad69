"""The server as one ASGI application: several of it may run on one database, and none of them does any work.

It holds a queue and one reader of the progress log, and nothing that another process would need: a browser may submit to one server, watch another and cancel
through a third. When it stops, streams end, and readers go on at the next server with the id they saw last.

Not handled here: sockets and signals (see `command`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from labkit.progress.live import LiveLog
from labkit.queue import TaskQueue
from labkit.server.control import control
from labkit.server.guard import LOOPBACK, Guard
from labkit.server.room import Room
from labkit.server.sse import progress
from labkit.server.tasks import newest, show, submit

PAGE = Path(__file__).parent / "page"
NOT_THERE = "there is nothing here; tasks are at /api/tasks"
CANCELS = 'a task is cancelled over the WebSocket /api/tasks/ID/control, by the message {"action": "cancel"}'
FILES = {"/": "index.html", "/page.js": "page.js", "/page.css": "page.css"}


def make_app(
    queue: TaskQueue, log: LiveLog | None = None, *, hosts: Iterable[str] = LOOPBACK, token: str = "", max_open: int | None = None
) -> Starlette:
    """The application for this queue. `hosts` are the names it answers to, `token` what every request must know, if anything.

    Of requests and WebSockets `max_open` may be open at once, or any number.
    """
    live = log or LiveLog(queue.engine, queue.clock)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        reader = asyncio.create_task(live.run())
        try:
            yield
        finally:
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await reader

    routes = [
        Route("/api/tasks", submit, methods=["POST"]),
        Route("/api/tasks", newest, methods=["GET"]),
        Route("/api/tasks/{task_id}", show, methods=["GET"]),
        Route("/api/progress", progress, methods=["GET"]),
        WebSocketRoute("/api/tasks/{task_id}/control", control),
        *(Route(path, _file, methods=["GET"], name=name) for path, name in FILES.items()),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Room, most=max_open), Middleware(Guard, hosts=hosts, token=token)],
        exception_handlers={HTTPException: _as_json, Exception: _failed},
    )
    app.state.queue, app.state.progress = queue, live
    return app


async def _file(request: Request) -> Response:
    return FileResponse(PAGE / FILES[request.url.path], headers={"cache-control": "no-cache"})


async def _as_json(request: Request, error: Exception) -> Response:
    """Unknown paths and methods, in the form of all other refusals, with where to go instead."""
    assert isinstance(error, HTTPException)
    of_one_task = request.url.path.startswith("/api/tasks/")
    if of_one_task and (request.method == "DELETE" or request.url.path.endswith("/control")):
        why = CANCELS
    else:
        why = NOT_THERE if error.status_code == 404 else error.detail
    return JSONResponse({"error": why}, error.status_code, headers=error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "the server failed; its log says why"}, 500)
