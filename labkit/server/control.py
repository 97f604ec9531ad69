"""Control of one task over a WebSocket: cancel it, change its priority, amend it, answer or approve what it asks.

Each message is one JSON object with an `action`; each gets one reply, in order, with the task as it is then or the reason why nothing was changed. A
refused message ends nothing: the connection stays. All it does is one call of the queue, so it takes effect whichever server process it reaches and
whichever worker holds the task. A message whose reply was lost may be sent again: a cancel and a priority are the same twice, of an answer the first
one counts, and an amendment that says which one it is (`number`) stands there once. That goes for "the database is busy", too: it may have become so
after the change.

Not handled here: telling of progress (see `sse`), and who may control (see `guard`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from labkit.agent import approval
from labkit.errors import LabkitError, StoreBusy, TaskNotFound, UnstorableValue
from labkit.queue import TaskQueue
from labkit.server.tasks import Refused, json_object, seen

UNKNOWN_TASK = 4404  # the code with which the connection is closed
Act = Callable[[TaskQueue, str, dict[str, Any]], object]

ACTIONS: dict[str, tuple[Act, dict[str, type]]] = {
    "cancel": (lambda queue, task, said: queue.cancel(task, said.get("reason", "")), {}),
    "priority": (lambda queue, task, said: queue.set_priority(task, said["priority"]), {"priority": int}),
    "amend": (lambda queue, task, said: queue.amend(task, said["text"], said.get("number")), {"text": str}),
    "answer": (lambda queue, task, said: approval.answer(queue, task, said["text"], said.get("question")), {"text": str}),
    "approve": (lambda queue, task, said: approval.approve(queue, task, said.get("question")), {}),
    "refuse": (lambda queue, task, said: approval.refuse(queue, task, said.get("reason", ""), said.get("question")), {}),
}
OPTIONAL = {"reason": str, "question": str, "number": int}


async def control(socket: WebSocket) -> None:
    """WS /api/tasks/{task_id}/control."""
    queue: TaskQueue = socket.app.state.queue
    task_id = socket.path_params["task_id"]
    await socket.accept()
    try:
        await socket.send_json(await asyncio.to_thread(_first, queue, task_id))
        while True:
            await socket.send_json(await asyncio.to_thread(_obey, queue, task_id, await socket.receive_text()))
    except (TaskNotFound, UnstorableValue):
        await socket.close(UNKNOWN_TASK, "there is no such task")
    except (KeyError, UnicodeDecodeError):  # a binary message
        await socket.close(1003, "send JSON as text")
    except WebSocketDisconnect:
        pass


def _first(queue: TaskQueue, task_id: str) -> dict[str, Any]:
    try:
        return {"task": seen(queue, task_id)}
    except StoreBusy as error:
        return {"ok": False, "error": str(error)}


def _obey(queue: TaskQueue, task_id: str, message: str) -> dict[str, Any]:
    try:
        said = json_object(message)
        act, needed = ACTIONS[_action(said)]
        for name, kind in {**OPTIONAL, **needed}.items():
            if name in needed and name not in said:
                raise Refused(f"{said['action']} needs {name}")
            if name in said and (not isinstance(said[name], kind) or isinstance(said[name], bool)):
                raise Refused(f"{name} must be {'a text' if kind is str else 'a whole number'}")
        act(queue, task_id, said)
        return {"ok": True, "task": seen(queue, task_id)}
    except (Refused, LabkitError) as error:
        return {"ok": False, "error": str(error)}


def _action(said: dict[str, Any]) -> str:
    action = said.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        raise Refused(f"action must be one of {', '.join(ACTIONS)}")
    return action
