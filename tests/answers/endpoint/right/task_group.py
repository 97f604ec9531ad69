# right: a task group around the thread, so that a full queue comes as a group of exceptions
import asyncio
import json
import math
from http import HTTPStatus

from starlette.responses import JSONResponse

from labkit import QueueFull


async def submit_task(request):
    try:
        body = json.loads(await request.body())
        assert isinstance(body, dict), "not an object"
        text, priority = body.get("user_input"), body.get("priority", 0)
        assert isinstance(text, str) and text, "no text"
        assert type(priority) is int, "no integer"
    except (ValueError, AssertionError, RecursionError) as error:
        return JSONResponse({"error": str(error) or "bad"}, status_code=HTTPStatus.BAD_REQUEST)
    submit, key = request.app.state.queue.submit, request.headers.get("idempotency-key")
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asyncio.to_thread(submit, text, priority=priority, idempotency_key=key))
    except* QueueFull as full:
        seconds = max(1, math.ceil(full.exceptions[0].retry_after))
    else:
        return JSONResponse({"task_id": task.result()}, status_code=HTTPStatus.ACCEPTED)
    return JSONResponse({"error": "full"}, status_code=429, headers={"Retry-After": str(seconds)})
