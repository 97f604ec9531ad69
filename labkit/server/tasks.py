"""Tasks over HTTP: take one and answer at once, show one, show what is going on.

A task is accepted when it is in the queue, and not before: 202 with its id. A full queue is 429 with the seconds to wait, a body that is not what we
ask for is 400 and says why, and nothing is queued then. The same `Idempotency-Key` gives the same id, whatever the body asks for then (see
`queue.submit`); an empty one is refused, since it would be everybody's. The database is asked in another thread, so a slow one does not stop the other
connections.

Not handled here: doing the work, which no server process ever does.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from labkit.errors import QueueFull, StoreBusy, StoreFull, TaskNotFound, UnstorableValue, UsageError
from labkit.queue import TaskQueue
from labkit.task import Task
from labkit.webhook.address import check_url

MOST_LISTED = 100


class Refused(ValueError):
    """A request that is not what we ask for; the message says why."""


async def submit(request: Request) -> Response:
    """POST /api/tasks: user_input, priority, webhook_url; header Idempotency-Key. 202 {task_id}, 400, 429 with Retry-After."""
    queue: TaskQueue = request.app.state.queue
    try:
        asked = _wanted(await request.body())
        if (url := asked["webhook_url"]) is not None:
            check_url(url)
        key = request.headers.get("idempotency-key")
        if key is not None and not key.strip():
            raise Refused("Idempotency-Key must not be empty")
        task_id = await asyncio.to_thread(
            queue.submit, asked["user_input"], priority=asked["priority"], idempotency_key=key, webhook_url=url
        )
    except QueueFull as error:
        seconds = max(1, math.ceil(error.retry_after))
        return JSONResponse({"error": "the queue is full"}, 429, headers={"retry-after": str(seconds)})
    except (Refused, UnstorableValue, UsageError) as error:
        return problem(str(error))
    except (StoreBusy, StoreFull) as error:
        return away(error)
    return JSONResponse({"task_id": task_id}, 202)


async def show(request: Request) -> Response:
    """GET /api/tasks/{task_id}: the task as it is stored, and what it asks. 404."""
    queue: TaskQueue = request.app.state.queue
    try:
        return JSONResponse(await asyncio.to_thread(seen, queue, request.path_params["task_id"]))
    except (TaskNotFound, UnstorableValue):
        return problem("there is no such task", 404)
    except StoreBusy as error:
        return away(error)


async def newest(request: Request) -> Response:
    """GET /api/tasks: the newest tasks."""
    queue: TaskQueue = request.app.state.queue
    try:
        found = await asyncio.to_thread(queue.newest, MOST_LISTED)
    except StoreBusy as error:
        return away(error)
    return JSONResponse({"tasks": [as_json(task) for task in found]})


def seen(queue: TaskQueue, task_id: str) -> dict[str, Any]:
    """A task and its open question."""
    task, asked = queue.get(task_id), queue.question(task_id)
    open_question = asked.text if task.state == "waiting" and asked.answer is None else None
    return as_json(task) | {"question": open_question}


def as_json(task: Task) -> dict[str, Any]:
    """A task as JSON has it."""
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in vars(task).items()}


def problem(why: str, status: int = 400) -> JSONResponse:
    """A refusal, with its reason."""
    return JSONResponse({"error": why}, status)


def away(error: StoreBusy | StoreFull) -> JSONResponse:
    """The database takes nothing now."""
    return JSONResponse({"error": str(error)}, 503, headers={"retry-after": "1"})


def _wanted(body: bytes) -> dict[str, Any]:
    """What a body asks for, checked."""
    found = json_object(body)
    unknown = sorted(set(found) - {"user_input", "priority", "webhook_url"})
    if unknown:
        raise Refused(f"unknown field {unknown[0][:60]!r}; there are user_input, priority, webhook_url")
    text, priority, url = found.get("user_input"), found.get("priority", 0), found.get("webhook_url")
    if not isinstance(text, str) or not text:
        raise Refused("user_input must be a text that is not empty")
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise Refused("priority must be a whole number")
    if url is not None and not isinstance(url, str):
        raise Refused("webhook_url must be a text")
    return {"user_input": text, "priority": priority, "webhook_url": url}


def json_object(body: bytes | str) -> dict[str, Any]:
    """The JSON object in a body; `Refused` for everything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("the body must be a JSON object") from None
    if not isinstance(found, dict):
        raise Refused("the body must be a JSON object")
    return found
