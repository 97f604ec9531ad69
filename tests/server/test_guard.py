"""Who may speak: this machine's own pages and whoever knows the token; everybody else is refused before anything happens."""

from __future__ import annotations

import socket

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from labkit.queue import TaskQueue
from labkit.server import guard
from tests.server.conftest import Running, running

TASK = {"user_input": "deploy shop"}


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "[::1", "localhost:x", "169.254.169.254"])
def test_a_foreign_host(server: Running, host: str) -> None:
    """A name that is not ours, as a rebound DNS name sends it, is 421."""
    with server.client() as client:
        answer = client.post("/api/tasks", json=TASK, headers={"host": host})
    assert 421 == answer.status_code
    assert [] == server.queue.newest()


@pytest.mark.parametrize("headers", [
    {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://localhost"}, {"origin": "http://127.0.0.1:1"},
    {"origin": "//x"}, {"origin": "http://["}, {"origin": "http://[x]"}, {"sec-fetch-site": "cross-site"},
])  # fmt: skip
def test_a_foreign_page(server: Running, headers: dict[str, str]) -> None:
    """A request that another page makes its reader send is 403; the same from our own page is taken."""
    with server.client() as client:
        assert 403 == client.post("/api/tasks", json=TASK, headers=headers).status_code
        own = {"origin": server.url, "sec-fetch-site": "same-origin"}
        assert 202 == client.post("/api/tasks", json=TASK, headers=own).status_code
    assert 1 == len(server.queue.newest())


def test_a_foreign_page_with_a_socket(server: Running) -> None:
    """A WebSocket of another page is refused before it is open."""
    task_id = server.queue.submit("x")
    address = f"ws://127.0.0.1:{server.port}/api/tasks/{task_id}/control"
    with pytest.raises(InvalidStatus) as refused, connect(address, origin="http://evil.example", proxy=None):  # type: ignore[arg-type]
        pass
    assert 403 == refused.value.response.status_code


def test_the_token(queue: TaskQueue) -> None:
    """With a token nothing works without it: neither pages nor the API nor sockets. Opening the page with it sets a cookie, once."""
    task_id = queue.submit("x")
    with running(queue, token="s3cret") as server:
        address = f"ws://127.0.0.1:{server.port}/api/tasks/{task_id}/control"
        with server.client() as client:
            for path in ("/", "/api/tasks", f"/api/progress?task_id={task_id}", "/?token=wrong", "/api/tasks?token=s3cret"):
                assert 401 == client.get(path).status_code
            assert 200 == client.get("/api/tasks", headers={"authorization": "Bearer s3cret"}).status_code
            opened = client.get("/?token=s3cret")
            assert (303, "/") == (opened.status_code, opened.headers["location"])
            assert "httponly" in opened.headers["set-cookie"].lower()
            assert 200 == client.get("/").status_code
        with pytest.raises(InvalidStatus), connect(address, proxy=None):
            pass
        with connect(address, proxy=None, additional_headers={"cookie": "labkit_token=s3cret"}) as open_one:
            assert task_id in str(open_one.recv())


@pytest.mark.parametrize("cookie", [
    "labkit_token={}", 'labkit_token="{}"', "theme={{a:1}}; labkit_token={}", "a/b=1;labkit_token={}", "x; labkit_token={}; é=[]",
    "labkit_token=of another; labkit_token={}",
])  # fmt: skip
def test_among_other_cookies(queue: TaskQueue, cookie: str) -> None:
    """Cookies of other applications on this machine, however odd, do not hide ours; and none of them is taken for it."""
    with running(queue, token="s/3cret") as server, server.client() as client:
        for value, status in (("s/3cret", 200), ("s/3", 401), ("", 401)):
            assert status == client.get("/api/tasks", headers={"cookie": cookie.format(value).encode()}).status_code  # type: ignore[dict-item]


def test_a_body_that_is_too_long(server: Running) -> None:
    """413, whether it says its length or not."""
    long = b'{"user_input": "' + b"x" * guard.LARGEST_BODY + b'"}'
    with server.client() as client:
        assert 413 == client.post("/api/tasks", content=long).status_code
        assert 413 == client.post("/api/tasks", content=iter([long])).status_code
        assert 202 == client.post("/api/tasks", json=TASK).status_code


def test_a_body_that_does_not_come(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """408: a sender that stops in the middle holds a connection for ten seconds and not for ever."""
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), 30) as sender:
        sender.sendall(b"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert b" 408 " in sender.recv(4096)


def test_headers_of_the_page(server: Running) -> None:
    """The page loads nothing from anywhere else, and nobody may frame it."""
    with server.client() as client:
        page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in page.text.replace("http-equiv", "")
