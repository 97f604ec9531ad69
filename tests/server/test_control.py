"""Control over a WebSocket: each message does one thing, once, and says what came of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from labkit.errors import StoreBusy
from labkit.queue import Lease, TaskQueue
from labkit.queue.lease import LONGEST_ERROR
from labkit.server import control
from tests.server.conftest import Running


def opened(server: Running, task_id: str) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{server.port}/api/tasks/{task_id}/control", proxy=None)


def say(socket: ClientConnection, **message: Any) -> dict[str, Any]:
    socket.send(json.dumps(message))
    return dict(json.loads(socket.recv()))


def asks(queue: TaskQueue, question: str) -> None:
    task = queue.claim("w1")
    assert task is not None
    queue.park(Lease.of(task), question)


def test_priority_amend_cancel(server: Running) -> None:
    """Each takes effect at once; what came too late is refused, and the connection stays."""
    task_id = server.queue.submit("deploy shop")
    with opened(server, task_id) as socket:
        assert "pending" == json.loads(socket.recv())["task"]["state"]
        assert 9 == say(socket, action="priority", priority=9)["task"]["priority"]
        assert [True, True] == [say(socket, action="amend", text="in Oslo", number=1)["ok"] for _ in range(2)]
        assert "cancelled" == say(socket, action="cancel", reason="not needed")["task"]["state"]
        late = say(socket, action="amend", text="too late")
        assert not late["ok"]
        assert "has ended" in late["error"]
        assert say(socket, action="cancel")["ok"]
    assert ["in Oslo"] == server.queue.amendments(task_id)


def test_a_question_is_answered_once(server: Running) -> None:
    """The first answer counts; one to a question that is not asked any more changes nothing."""
    task_id = server.queue.submit("clean web-1")
    asks(server.queue, "May I delete?")
    with opened(server, task_id) as one, opened(server, task_id) as other:
        assert "May I delete?" == json.loads(one.recv())["task"]["question"]
        other.recv()
        wrong = say(one, action="approve", question="May I look?")
        assert (False, "waiting") == (wrong["ok"], server.queue.get(task_id).state)
        assert say(one, action="approve", question="May I delete?")["ok"]
        assert not say(other, action="refuse", question="May I delete?")["ok"]
        asks(server.queue, "Which one?")
        assert say(other, action="answer", text="web-1", question="Which one?")["ok"]
    assert ("Which one?", "web-1") == (server.queue.question(task_id).text, server.queue.question(task_id).answer)


def test_an_answer_that_is_neither_yes_nor_no(server: Running) -> None:
    """Where a risky call waits for one of them it is refused in one line, and the question stays open; one in other words counts."""
    task_id = server.queue.submit("clean web-1")
    asks(server.queue, "May clean_logs {} run? (write local, turn1_call1)")
    with opened(server, task_id) as socket:
        socket.recv()
        for more in ({}, {"question": "May clean_logs {} run? (write local, turn1_call1)"}):
            refused = say(socket, action="answer", text="go\nahead", **more)
            assert (False, True, False) == (refused["ok"], "neither yes nor no" in refused["error"], "\n" in refused["error"])
        assert ("waiting", None) == (server.queue.get(task_id).state, server.queue.question(task_id).answer)
        assert say(socket, action="answer", text="Yes!")["ok"]


ODD: list[str] = [
    "", "x", "[]", "null", "{}", '{"action": 7}', '{"action": "explode"}', '{"action": "priority"}', '{"action": "priority", "priority": "1"}',
    '{"action": "priority", "priority": true}', '{"action": "priority", "priority": 1e99}', '{"action": "amend"}', '{"action": "amend", "text": null}',
    '{"action": "amend", "text": "\\u0000"}', '{"action": "answer", "text": "nobody asked"}', '{"action": "cancel", "reason": []}', "[" * 60_000,
    '{"action": ["cancel"]}',
]  # fmt: skip


def test_odd_messages(server: Running) -> None:
    """Each is refused in one line, nothing changes, and the connection goes on."""
    task_id = server.queue.submit("deploy shop")
    before = server.queue.get(task_id)
    with opened(server, task_id) as socket:
        socket.recv()
        for message in ODD:
            socket.send(message)
            reply = json.loads(socket.recv())
            assert False is reply["ok"], message
            assert "\n" not in reply["error"]
        assert before == server.queue.get(task_id)
        assert say(socket, action="priority", priority=1)["ok"]


@pytest.mark.parametrize("message", [b"\x00\xff", b"{}"])
def test_bytes(server: Running, message: bytes) -> None:
    """A binary message ends the connection with a reason, and nothing else."""
    task_id = server.queue.submit("deploy shop")
    with opened(server, task_id) as socket:
        socket.recv()
        socket.send(message)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv()
    assert 1003 == closed.value.rcvd.code  # type: ignore[union-attr]
    assert "pending" == server.queue.get(task_id).state


def test_a_long_message(server: Running) -> None:
    """A message longer than a body may be ends the connection, and a long reason is kept in part."""
    task_id, other = server.queue.submit("deploy shop"), server.queue.submit("deploy wiki")
    with opened(server, task_id) as socket:
        socket.recv()
        assert say(socket, action="cancel", reason="r" * 60_000)["ok"]
    assert LONGEST_ERROR < len(server.queue.get(task_id).error or "") < LONGEST_ERROR + 10
    with opened(server, other) as socket:
        socket.recv()
        with pytest.raises(ConnectionClosed) as closed:
            say(socket, action="cancel", reason="r" * 70_000)
    assert 1009 == closed.value.rcvd.code  # type: ignore[union-attr]
    assert "pending" == server.queue.get(other).state


def test_the_database_is_busy(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is one line at any moment, and the connection goes on."""
    task_id = server.queue.submit("deploy shop")

    def busy(queue: TaskQueue, task_id: str) -> dict[str, Any]:
        raise StoreBusy("the database is busy")

    with monkeypatch.context() as patched:
        patched.setattr(control, "seen", busy)
        with opened(server, task_id) as socket:
            said = [json.loads(socket.recv()), say(socket, action="priority", priority=3)]
            patched.undo()
            assert say(socket, action="priority", priority=3)["ok"]
    assert [{"ok": False, "error": "the database is busy"}] * 2 == said


def test_no_such_task(server: Running) -> None:
    """The connection is closed with a code of its own."""
    with opened(server, "none") as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv()
    assert 4404 == closed.value.rcvd.code  # type: ignore[union-attr]
