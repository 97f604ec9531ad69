"""Who may speak to the server: this machine's own pages, and whoever knows the token. The rest is refused before anything is read.

A page from elsewhere must not use the server through its reader's browser: a foreign `Host` (DNS rebinding) is 421, a foreign `Origin` or a
cross-site request is 403. With a token each request needs it, as `Authorization: Bearer`, or as the cookie that opening `/?token=...` once sets.
A body has at most 64 KiB and comes in ten seconds: else 413 or 408.

Not handled here: TLS. Whoever binds to more than this machine puts a proxy in front.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 65_536
BODY_SECONDS = 10.0
COOKIE = "labkit_token"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
SAME = ("same-origin", "same-site", "none")
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Guard:
    """Lets through to `app` what may come through. `hosts` are the names under which the server is known, without ports."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str] = LOOPBACK, token: str = "") -> None:
        self._app, self._hosts, self._token = app, {host.lower() for host in hosts}, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _refuse(scope, receive, send, refused)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        body = await _whole_body(receive, headers) if scope["method"] in ("POST", "PUT", "PATCH", "DELETE") else receive
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        await self._app(scope, body, _with_security(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if not scope["query_string"].isascii():
            return _problem(400, "a query is written in ASCII, with %XX for the rest")
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return _problem(421, "this server is not known under that name")
        origin = headers.get("origin")
        if origin is not None and _authority(origin) != host.lower():
            return _problem(403, "requests from other pages are refused")
        if headers.get("sec-fetch-site", "none") not in SAME and scope.get("method") != "GET":
            return _problem(403, "requests from other sites are refused")
        return self._without_token(scope, headers) if self._token else None

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        query = parse_qs(scope["query_string"].decode())
        given = query.get("token", [""])[0]
        if scope["type"] == "http" and scope["path"] == "/" and self._is_token(given):
            rest = urlencode({name: values for name, values in query.items() if name != "token"}, doseq=True)
            opened = RedirectResponse(f"/?{rest}" if rest else "/", 303)  # the token leaves the address bar
            opened.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return opened
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or any(self._is_token(value) for value in _cookies(headers)):
            return None
        return _problem(401, "a token is needed: open /?token=... or send Authorization: Bearer ...")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self._token.encode())


def _name(host: str) -> str:
    """The host without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def _authority(origin: str) -> str:
    """Host and port of an origin; "" for what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _cookies(headers: Headers) -> Iterator[str]:
    """What our cookie says, however odd those of other applications are that stand beside it."""
    for pair in ";".join(headers.getlist("cookie")).split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            yield value.removeprefix('"').removesuffix('"')  # subtle: a token with a slash was set in quotes, and no token has one


def _problem(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)


async def _refuse(scope: Scope, receive: Receive, send: Send, response: Response) -> None:
    """Say no. A WebSocket is refused before it is accepted, which its client sees as 403."""
    if scope["type"] == "http":
        await response(scope, receive, _with_security(send))
    else:
        await receive()
        await send({"type": "websocket.close", "code": 1008})


async def _whole_body(receive: Receive, headers: Headers) -> Receive | Response:
    """The body, read as far as it may go, as a `receive` that gives it again."""
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length[:20]) > LARGEST_BODY:
        return _problem(413, f"a body may have {LARGEST_BODY} bytes")
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _problem(400, "the body ended early")
                parts.append(message.get("body", b""))
                if sum(map(len, parts)) > LARGEST_BODY:
                    return _problem(413, f"a body may have {LARGEST_BODY} bytes")
                if not message.get("more_body"):
                    break
    except TimeoutError:
        return _problem(408, f"the body did not come in {BODY_SECONDS:g} s")
    given = [b"".join(parts)]

    async def again() -> Message:
        if given:
            return {"type": "http.request", "body": given.pop(), "more_body": False}
        return await receive()

    return again


def _with_security(send: Send) -> Send:
    """The same, with headers that keep a page from being used by others."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message.setdefault("headers", [])
            headers.extend((name.encode(), value.encode()) for name, value in SECURITY.items())
        await send(message)

    return sending
