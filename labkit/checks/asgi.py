"""One request to an async answer, and what a server hears of it: a scope, a `receive` and a `send` as an ASGI 2.3 server gives them.

The request is Starlette's own, the response is driven as the server drives it. The client may be slow to read and may go away at any moment; what is sent after
that is lost, as it is in a real server. Messages in a wrong order are refused as there.

Not handled here: routes and middleware, sockets, and what should come back (see `endpoint_rules` and `sse_rules`).
"""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

from labkit.checks.common import TOLD
from labkit.checks.naps import naps_of
from labkit.checks.virtual_loop import VirtualLoop

T = TypeVar("T")
Handler = Callable[[Any], Any]
Message = dict[str, Any]
NO_RESPONSE, NOT_ASYNC = "returned no response", "is no `async def`: what it returns cannot be awaited"


@cache
def parts() -> SimpleNamespace:
    """What takes long to load."""
    import anyio._backends._asyncio  # noqa: F401  # loaded by the first use else
    import starlette.concurrency  # noqa: F401
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response

    return SimpleNamespace(
        Starlette=Starlette, HTTPException=HTTPException, Request=Request, PlainText=PlainTextResponse, Response=Response
    )


def warm() -> None:
    """Load all that and what answers may use besides, where it is installed (see `run` for where it is not)."""
    with suppress(ImportError):
        parts()
    with suppress(ImportError):
        import sse_starlette  # noqa: F401


def play(loop: VirtualLoop, main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in the loop. Meanwhile `time.sleep` takes time on the loop's clock and none of the machine's, and no fault strikes there."""
    sleeper: Any = SimpleNamespace(clock=loop.clock)

    def run() -> T:
        with naps_of(sleeper), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what an answer leaves behind when it is told to leave
            return loop.play(main)

    return Context().run(run)  # subtle: in a context of its own a thread that is started is no news to the stage of the process


def bare(error: BaseException) -> BaseException:
    """What a task group has put into a group of one. A group that the check itself has raised stays as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1 and not str(error).startswith(TOLD):
        error = error.exceptions[0]
    return error


class Exchange:
    """One request and its response. `status` 0 means that none has begun; `whole` that it came to its end."""

    def __init__(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: Sequence[bytes] = (b"",),
        **state: Any,
    ) -> None:
        self.status, self.headers, self.sent, self.whole = 0, dict[str, str](), list[bytes](), False
        self._body, self._gone, self._paused = list(body), asyncio.Event(), asyncio.Event()
        self.waits_to_send = False
        self.unread: Callable[[], Any] | None = None  # what the next `receive` raises
        self._paused.set()
        self.scope = scope_of(method, target, headers, **state)

    async def respond(self, handler: Handler) -> str:
        """Ask the answer and send what it returns. Says why that cannot be done, "" when it was."""
        made = handler(parts().Request(self.scope, self.receive, self.send))
        if not inspect.isawaitable(made):
            return NO_RESPONSE if made is None else NOT_ASYNC
        try:
            response = await made
        except parts().HTTPException as error:  # as Starlette answers it
            response = _refusal(error)
        if response is None or not callable(response):
            return NO_RESPONSE
        done: Awaitable[None] = response(self.scope, self.receive, self.send)
        del response, made  # subtle: only whoever sends it keeps it alive, as in a server
        await done
        return ""

    async def receive(self) -> Message:
        if self.unread is not None:
            self.unread()
        if self._body and not self._gone.is_set():
            part = self._body.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._body)}
        if not self.whole:
            await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self._paused.is_set() and message["type"] == "http.response.body":
            self.waits_to_send = True
            await self._paused.wait()
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start" and not self.status:
            self.status = message["status"]
            self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
        elif message["type"] == "http.response.body" and self.status and not self.whole:
            self.sent.append(bytes(message.get("body", b"")))
            self.whole = not message.get("more_body", False)
        else:
            raise RuntimeError(f"Unexpected ASGI message {message['type']!r}")

    def leave(self) -> None:
        """The client goes away."""
        self._gone.set()
        self._paused.set()

    def pause(self) -> None:
        """The client reads nothing: whoever sends a part of the body to it waits until it leaves."""
        self._paused.clear()

    @property
    def body(self) -> bytes:
        return b"".join(self.sent)


def scope_of(method: str, target: str, headers: Mapping[str, str] | Sequence[tuple[str, str]], **state: Any) -> Message:
    """The scope of a request; `state` is what `request.app.state` holds."""
    app = parts().Starlette()
    for name, value in state.items():
        setattr(app.state, name, value)
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"shop"), *((name.lower().encode(), value.encode("latin-1")) for name, value in pairs)],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8_000),
        "path_params": {},
        "state": {},
        "app": app,
    }


def _refusal(error: Any) -> Any:
    if error.status_code in (204, 304):
        return parts().Response(status_code=error.status_code, headers=error.headers)
    return parts().PlainText(error.detail, status_code=error.status_code, headers=error.headers)
