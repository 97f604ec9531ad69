"""Server-sent events over real sockets: whole, in order, from where a reader was, to the one end; and the two halves of the format."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from starlette.types import Message

from labkit.progress.update import ProgressUpdate
from labkit.queue import Lease, TaskQueue
from labkit.server import sse
from labkit.server.sse import Decoder, Event, encode, last_event_id
from tests.queue.helpers import until
from tests.server.conftest import Running, running


@pytest.fixture
def queue(engine: Engine) -> TaskQueue:
    """Both databases: what a reader sees hangs on when rows become visible."""
    return TaskQueue(engine)


def begun(queue: TaskQueue) -> tuple[str, Lease]:
    task_id = queue.submit("deploy shop")
    task = queue.claim("w1")
    assert task is not None
    return task_id, Lease.of(task)


def tell(queue: TaskQueue, lease: Lease, step: int, message: str = "") -> None:
    queue.progress.append(ProgressUpdate(task_id=lease.task_id, step=step, status="thinking", message=message), lease)


def events(server: Running, task_id: str, **headers: str) -> Iterator[Event]:
    """What one reader gets, to the end of the stream."""
    decoder = Decoder()
    with server.client() as client, client.stream("GET", "/api/progress", params={"task_id": task_id}, headers=headers) as answer:
        assert 200 == answer.status_code
        assert "text/event-stream" in answer.headers["content-type"]
        assert "no-cache" in answer.headers["cache-control"]
        assert "no" == answer.headers["x-accel-buffering"]
        for part in answer.iter_bytes():
            yield from decoder.feed(part)
        yield from decoder.end()


def test_a_story_as_it_happens(server: Running) -> None:
    """Each event arrives before the next one is told; after the terminal one the stream is closed."""
    task_id, lease = begun(server.queue)
    tell(server.queue, lease, 1, "a line\nand another\r\u2028end")
    reader = events(server, task_id)
    first = next(reader)
    assert "a line\nand another\r\u2028end" == json.loads(first.data)["message"]
    tell(server.queue, lease, 2)
    second = next(reader)
    server.queue.fail(lease, "the disk is full")
    last = list(reader)
    assert [2, "error"] == [json.loads(second.data)["step"], json.loads(last[-1].data)["status"]]
    assert 1 == len(last)
    assert int(first.id) < int(second.id) < int(last[0].id)


def test_a_question_ends_no_stream(server: Running) -> None:
    """A reader hears at once that the task asks a person, stays, and hears how it went on."""
    task_id, lease = begun(server.queue)
    reader = events(server, task_id)
    server.queue.park(lease, "Really?")
    asked = ProgressUpdate.model_validate_json(next(reader).data)
    server.queue.answer(task_id, "yes")
    server.queue.complete(Lease.of(server.queue.claim("w1")), "up")  # type: ignore[arg-type]
    assert (True, "Really?", ["completed"]) == (asked.waiting, asked.message, [json.loads(event.data)["status"] for event in reader])


def test_a_reader_comes_again(server: Running) -> None:
    """With the last id it goes on after that event; with garbage from the beginning; after the end it gets an end."""
    task_id, lease = begun(server.queue)
    for step in (1, 2, 3):
        tell(server.queue, lease, step)
    server.queue.complete(lease, "up")
    told = list(events(server, task_id))
    assert ["thinking"] * 3 + ["completed"] == [json.loads(event.data)["status"] for event in told]
    for place, event in enumerate(told):
        assert told[place + 1 :] == list(events(server, task_id, **{"last-event-id": event.id}))
    for garbage in ("", "x", "-1", "1.5", "0x10", "1 2"):
        assert told == list(events(server, task_id, **{"last-event-id": garbage}))
    assert [] == list(events(server, task_id, **{"last-event-id": "9" * 18}))


def test_a_server_is_started_again(queue: TaskQueue) -> None:
    """What was told while no server ran is there for a reader that comes again to another one."""
    task_id, lease = begun(queue)
    tell(queue, lease, 1)
    with running(queue) as server:
        reader = events(server, task_id)
        seen = [next(reader)]
        reader.close()
    tell(queue, lease, 2)
    queue.complete(lease, "up")
    with running(queue) as server:
        seen += events(server, task_id, **{"last-event-id": seen[-1].id})
    assert [1, 2, 2] == [json.loads(event.data)["step"] for event in seen]


def test_no_such_task(server: Running) -> None:
    """400 without an id, 404 for one that is not there."""
    with server.client() as client:
        assert 400 == client.get("/api/progress").status_code
        assert 404 == client.get("/api/progress", params={"task_id": "none"}).status_code
        assert 404 == client.get("/api/progress?task_id=a%00b").status_code


@pytest.mark.parametrize("rudely", [False, True])
def test_who_leaves_is_forgotten(server: Running, rudely: bool) -> None:
    """A reader that closes, or whose machine resets the connection, leaves no subscription behind; the others hear on."""
    task_id, lease = begun(server.queue)
    tell(server.queue, lease, 1)
    stays = events(server, task_id)
    next(stays)
    leaver = socket.create_connection(("127.0.0.1", server.port), 30)
    leaver.sendall(f"GET /api/progress?task_id={task_id} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert b"200 OK" in leaver.recv(65536)
    until(lambda: server.log.watched == 2)
    if rudely:
        leaver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    leaver.close()
    until(lambda: server.log.watched == 1)
    server.queue.complete(lease, "up")
    assert ["completed"] == [json.loads(event.data)["status"] for event in stays]
    until(lambda: server.log.watched == 0)


def test_one_who_reads_nothing(server: Running) -> None:
    """A reader that takes nothing holds up nobody: the worker goes on, and others hear everything."""
    task_id, lease = begun(server.queue)
    lazy = socket.create_connection(("127.0.0.1", server.port), 30)
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    lazy.sendall(f"GET /api/progress?task_id={task_id} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    reader = events(server, task_id)
    for step in range(60):
        tell(server.queue, lease, step, "x" * 20_000)
    server.queue.complete(lease, "up")
    assert 61 == sum(1 for _ in reader)
    lazy.close()


def test_one_who_does_not_take_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes nothing any more is given up on wherever the stream is, also at its very end."""
    monkeypatch.setattr(sse, "SEND_SECONDS", 0.02)

    async def parts() -> AsyncGenerator[bytes]:
        yield b"data: completed\n\n"

    def full_from(first: int) -> Callable[[Message], Awaitable[None]]:
        sent = itertools.count()

        async def send(message: Message) -> None:
            if next(sent) >= first:
                await asyncio.Event().wait()

        return send

    async def given_up() -> None:
        for first in range(3):
            await asyncio.wait_for(sse.EventStream(parts())({"type": "http"}, asyncio.Event().wait, full_from(first)), 10)  # type: ignore[arg-type]

    asyncio.run(given_up())


def test_large_events_are_not_kept() -> None:
    """A small event is encoded once for all readers; of a large one nothing stays in memory."""
    small, large = (ProgressUpdate(task_id="t", step=1, status="error", message="x" * size) for size in (10, 100_000))
    assert encode(7, small) is encode(7, small)
    assert encode(7, large) == encode(7, large)
    assert encode(7, large) is not encode(7, large)


UPDATES = st.builds(ProgressUpdate, task_id=st.text(max_size=9), step=st.integers(0, 9), status=st.just("thinking"), message=st.text(max_size=40))


@given(st.lists(UPDATES, max_size=5), st.lists(st.integers(1, 40), max_size=40))
def test_any_update_in_any_pieces(updates: list[ProgressUpdate], cuts: list[int]) -> None:
    """What is encoded is what is decoded, wherever the bytes are cut; comments are no events."""
    wire = b": hello\n\n".join([b"", *(encode(seq, update) for seq, update in enumerate(updates, start=1))])
    decoder, found, place = Decoder(), list[Event](), 0
    for cut in [*cuts, len(wire)]:
        found += decoder.feed(wire[place : place + cut])
        place += cut
    found += decoder.end()
    assert [str(number) for number, _ in enumerate(updates, start=1)] == [event.id for event in found]
    assert updates == [ProgressUpdate.model_validate_json(event.data) for event in found]


def test_an_end_without_its_blank_line() -> None:
    """A last event whose blank line was lost is given at the end; line ends of all three kinds are line ends."""
    decoder = Decoder()
    assert [] == list(decoder.feed(b"id: 7\r\ndata: a\r\ndata:b"))
    assert [Event("7", "message", "a\nb")] == list(decoder.end())
    assert [Event("1", "x", "c")] == list(Decoder().feed(b"id:1\revent: x\rdata: c\r\r:"))


@pytest.mark.parametrize(("text", "position"), [(None, 0), ("7", 7), ("007", 7), ("", 0), ("7x", 0), ("-7", 0), ("٣", 0), ("9" * 19, 2**63 - 1), ("9" * 99, 0)])
def test_last_event_id(text: Any, position: int) -> None:
    """A position, or the beginning for what is none."""
    assert position == last_event_id(text)
