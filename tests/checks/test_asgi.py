"""A request to an async answer, driven as an ASGI 2.3 server drives it."""

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, StreamingResponse

from labkit.checks.asgi import NO_RESPONSE, NOT_ASYNC, Exchange, bare, play
from labkit.checks.common import TOLD
from labkit.checks.virtual_loop import VirtualLoop
from labkit.clock import VirtualClock


def exchanged(handler, *parts, **state):
    """The exchange of a handler that is asked once, and why nothing was sent."""
    exchange = Exchange("POST", "/tasks?a=1", {"X-Key": "k"}, parts or (b"",), **state)
    return exchange, play(VirtualLoop(VirtualClock()), exchange.respond(handler))


def test_a_request_is_whole():
    """Query, headers, state and a body in pieces reach the handler; status, headers and body come back."""

    async def echo(request):
        told = [request.query_params["a"], request.headers["x-key"], request.app.state.queue, (await request.body()).decode()]
        return JSONResponse(told, 202)

    exchange, why = exchanged(echo, b"de", b"ploy", queue=7)
    assert ("", 202, "application/json", True) == (why, exchange.status, exchange.headers["content-type"], exchange.whole)
    assert b'["1","k",7,"deploy"]' == exchange.body


def test_http_exception_is_answered_as_starlette_does():
    """Its status, its words in plain text, and its headers."""

    async def refuse(request):
        raise HTTPException(429, "full", {"Retry-After": "3"})

    exchange, _ = exchanged(refuse)
    assert (429, b"full", "3") == (exchange.status, exchange.body, exchange.headers["retry-after"])


def test_what_is_no_response_is_told():
    """A handler that returns nothing, or nothing that can be awaited."""

    async def nothing(request):
        return None

    assert NO_RESPONSE == exchanged(nothing)[1]
    assert NOT_ASYNC == exchanged(lambda request: JSONResponse({}))[1]


@pytest.mark.parametrize("paused", [False, True])
def test_a_client_that_leaves(paused):
    """Nothing reaches it any more, whoever sends goes on, and the response is cancelled."""
    ended = []

    async def parts():
        try:
            yield b"1"
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def stream(request):
        return StreamingResponse(parts())

    async def main(loop):
        exchange = Exchange("GET", "/")
        if paused:
            exchange.pause()
        sending = asyncio.ensure_future(exchange.respond(stream))
        await loop.rest()
        waits = exchange.waits_to_send
        exchange.leave()
        await sending
        return waits, exchange.body, exchange.whole

    loop = VirtualLoop(VirtualClock())
    assert (paused, b"" if paused else b"1", False) == play(loop, main(loop))
    assert [True] == ended


def test_messages_in_a_wrong_order_are_refused():
    """A body before its start, a second start, and more after the end."""
    start, body = {"type": "http.response.start", "status": 200, "headers": []}, {"type": "http.response.body", "body": b""}

    async def main():
        for wrong in ([body], [start, start], [start, body, body]):
            exchange = Exchange("GET", "/")
            *fine, last = wrong
            for message in fine:
                await exchange.send(message)
            with pytest.raises(RuntimeError, match="Unexpected ASGI message"):
                await exchange.send(last)

    play(VirtualLoop(VirtualClock()), main())


def test_a_group_of_one_is_what_it_holds():
    """But for a group that the check itself has raised."""
    inner, ours = KeyboardInterrupt("x"), BaseExceptionGroup(TOLD, [KeyboardInterrupt()])
    assert inner is bare(BaseExceptionGroup("a", [BaseExceptionGroup("b", [inner])]))
    assert ours is bare(ours)
