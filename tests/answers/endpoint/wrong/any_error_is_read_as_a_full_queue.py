# wrong: asks every error of submit for its retry_after, which only a full queue has
# diagnosed: raises an error of its own
import asyncio
import json
import math

from starlette.responses import JSONResponse

from labkit import QueueFull


async def submit_task(request):
    """Queue the task and answer at once: 202, 400 or 429."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        return refused("the body is not JSON")
    if not isinstance(body, dict):
        return refused("the body is not an object")
    text, priority = body.get("user_input"), body.get("priority", 0)
    if not isinstance(text, str) or not text:
        return refused("user_input must be a text that is not empty")
    if type(priority) is not int:
        return refused("priority must be an integer")
    queue, key = request.app.state.queue, request.headers.get("idempotency-key")
    try:
        task_id = await asyncio.to_thread(
            queue.submit, text, priority=priority, idempotency_key=key
        )
    except Exception as full:
        seconds = max(1, math.ceil(full.retry_after))
        headers = {"Retry-After": str(seconds)}
        return JSONResponse({"error": "the queue is full"}, 429, headers)
    return JSONResponse({"task_id": task_id}, 202)


def refused(why):
    return JSONResponse({"error": why}, 400)
