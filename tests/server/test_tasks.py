"""Tasks over HTTP: accepted at once or refused with a reason; nothing in between, and never a 500."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from labkit.queue import Lease, TaskQueue
from labkit.server.app import make_app
from labkit.task import TaskState
from tests.server.conftest import Running


def test_a_task_is_taken(server: Running) -> None:
    """202 and an id; the task is in the queue with what was asked for, and nobody has worked on it."""
    with server.client() as client:
        answer = client.post("/api/tasks", json={"user_input": "deploy café ☕", "priority": 7})
        task_id = answer.json()["task_id"]
        shown = client.get(f"/api/tasks/{task_id}").json()
        listed = client.get("/api/tasks").json()["tasks"]
    assert (202, "deploy café ☕", 7) == (answer.status_code, shown["user_input"], shown["priority"])
    assert [task_id] == [task["id"] for task in listed]
    assert TaskState.PENDING == server.queue.get(task_id).state


def test_the_same_key_is_the_same_task(server: Running) -> None:
    """Sent again under its key it is one task, also when the queue has become full meanwhile."""
    with server.client(headers={"idempotency-key": "order 7"}) as client:
        first = client.post("/api/tasks", json={"user_input": "deploy shop"})
        for number in range(4):
            server.queue.submit(f"task {number}")
        again = client.post("/api/tasks", json={"user_input": "deploy shop"})
    assert (202, first.json()) == (again.status_code, again.json())


@pytest.mark.parametrize("key", ["", "  ", "\xa0"])
def test_a_key_that_is_empty(server: Running, key: str) -> None:
    """400: it would be the key of everybody who has none, and their tasks would be one."""
    body = b'{"user_input": "deploy shop"}'
    asked = f"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\nIdempotency-Key: {key}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 30) as sender:
        sender.sendall(asked.encode("latin-1") + body)
        answer = sender.makefile("rb").read()
    assert b" 400 " in answer.partition(b"\r\n")[0]
    assert b"Idempotency-Key" in answer
    assert [] == server.queue.newest()


def test_a_full_queue(server: Running) -> None:
    """429 with whole seconds to wait; the rows are as many as were accepted."""
    with server.client() as client:
        answers = [client.post("/api/tasks", json={"user_input": f"task {number}"}) for number in range(8)]
    assert [202] * 5 + [429] * 3 == [answer.status_code for answer in answers]
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers[5:])
    assert 5 == len(server.queue.newest())


BAD: list[Any] = [
    b"", b"{", b"[]", b'"text"', b"null", b"7", b"\xff\xfe", b"[" * 50_000, b'{"user_input": 7}', b'{"user_input": null}',
    b'{"user_input": ""}', b'{"user_input": "\\ud800"}', b'{"user_input": "a\\u0000b"}', b'{"user_input": "x", "priority": null}',
    b'{"user_input": "x", "priority": true}', b'{"user_input": "x", "priority": "1"}', b'{"user_input": "x", "priority": 1.5}',
    b'{"user_input": "x", "priority": 99999999999999999999999}', b'{"user_input": "x", "webhook_url": 7}',
    b'{"user_input": "x", "webhook_url": "ftp://a.example/"}', b'{"user_input": "x", "webhook_url": "http://"}',
    b'{"user_input": "x", "unknown": 1}', b'{"priority": 1}',
]  # fmt: skip


def test_bad_bodies(server: Running) -> None:
    """400, one line of JSON that says why, and nothing is queued."""
    with server.client() as client:
        for body in BAD:
            answer = client.post("/api/tasks", content=body, headers={"content-type": "application/json"})
            assert (400, ["error"]) == (answer.status_code, list(answer.json())), body
            assert "\n" not in answer.json()["error"]
        assert 202 == client.post("/api/tasks", json={"user_input": "fine"}).status_code
    assert 1 == len(server.queue.newest())


def test_what_is_not_there(server: Running) -> None:
    """404 and 405 as JSON."""
    with server.client() as client:
        for method, path, status in [
            ("GET", "/api/tasks/none", 404), ("GET", "/nothing", 404), ("GET", "/api/tasks/a%00b", 404), ("PUT", "/api/tasks", 405),
            ("GET", "/../../etc/passwd", 404), ("GET", "/page.js/../app.py", 404),
        ]:  # fmt: skip
            answer = client.request(method, path)
            assert (status, ["error"]) == (answer.status_code, list(answer.json())), path


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/tasks", 404, "tasks are at /api/tasks"),
        ("DELETE", "/api/tasks/some-id", 405, 'over the WebSocket /api/tasks/ID/control, by the message {"action": "cancel"}'),
        ("POST", "/api/tasks/some-id/control", 404, "over the WebSocket /api/tasks/ID/control"),
        ("PUT", "/api/tasks", 405, "Method Not Allowed"),
    ],
)
def test_a_refusal_says_where_to_go(server: Running, method: str, path: str, status: int, said: str) -> None:
    """Who asks in the wrong place hears of the right one; which methods there are stands in the header."""
    with server.client() as client:
        answer = client.request(method, path)
    assert (status, True, status == 405) == (answer.status_code, said in answer.json()["error"], "allow" in answer.headers)


def test_what_it_asks(server: Running) -> None:
    """A waiting task shows its open question, and none once it is answered."""
    task_id = server.queue.submit("clean web-1")
    task = server.queue.claim("w1")
    assert task is not None
    server.queue.park(Lease.of(task), "May I?")
    with server.client() as client:
        assert "May I?" == client.get(f"/api/tasks/{task_id}").json()["question"]
        server.queue.answer(task_id, "approved")
        assert client.get(f"/api/tasks/{task_id}").json()["question"] is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["user_input", "priority", "webhook_url", "x"]), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip
BODIES = st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode())
PATHS = st.sampled_from(["/api/tasks", "/api/tasks/x", "/api/progress", "/", "/page.js"]) | st.text(max_size=12).map(
    lambda text: f"/api/tasks/{text}"
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
QUERIES = st.sampled_from([b"", b"task_id=", b"task_id=%00", b"task_id=\xff", b"task_id=%ed%a0%80", b"token=x", b"&&=;"]) | st.binary(max_size=9)
NAMES = st.sampled_from(["idempotency-key", "last-event-id", "content-length", "content-type", "cookie", "authorization", "sec-fetch-site", "origin"])
HEADERS = st.dictionaries(NAMES, st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=15), max_size=3)


def test_no_request_makes_it_fail(sqlite: Engine) -> None:
    """Whatever comes in by method, path, query, header and body: an answer below 500, and the next request is served."""
    queue = TaskQueue(sqlite, max_pending=None)
    app = make_app(queue)

    async def ask(method: str, path: str, query: bytes, headers: dict[str, str], body: bytes) -> int:
        raw = [(b"host", b"localhost"), *((name.encode(), value.encode("latin-1")) for name, value in headers.items())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "server": ("localhost", 80),
            "method": method, "path": path, "raw_path": path.encode(errors="replace"), "query_string": query, "headers": raw,
        }  # fmt: skip
        coming, sent = [{"type": "http.request", "body": body}], list[Any]()

        async def receive() -> Any:
            return coming.pop() if coming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return int(sent[0]["status"])

    @settings(max_examples=300)
    @given(METHODS, PATHS, QUERIES, HEADERS, BODIES)
    def fuzz(method: str, path: str, query: bytes, headers: dict[str, str], body: bytes) -> None:
        assert asyncio.run(ask(method, path, query, headers, body)) < 500

    fuzz()
    assert 200 == asyncio.run(ask("GET", "/api/tasks", b"", {}, b""))
