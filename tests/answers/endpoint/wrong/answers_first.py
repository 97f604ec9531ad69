# wrong: hands the submit to a task of its own and answers 202 at once
# diagnosed: answers before the task is in the queue
import asyncio
import json
import math

from starlette.responses import JSONResponse

from labkit import QueueFull


PENDING = []


async def submit(queue, text, priority, key):
    try:
        return await asyncio.to_thread(queue.submit, text, priority=priority, idempotency_key=key)
    except QueueFull as full:
        return math.ceil(full.retry_after)


async def submit_task(request):
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        return JSONResponse({"error": "not JSON"}, 400)
    if not isinstance(body, dict):
        return JSONResponse({"error": "not an object"}, 400)
    text = body.get("user_input")
    if not isinstance(text, str) or not text:
        return JSONResponse({"error": "no user_input"}, 400)
    priority = body.get("priority", 0)
    if type(priority) is not int:
        return JSONResponse({"error": "the priority is no integer"}, 400)
    key = request.headers.get("idempotency-key")
    queue = request.app.state.queue
    PENDING.append(asyncio.ensure_future(submit(queue, text, priority, key)))
    await asyncio.sleep(0)
    task_id = "task-81f3"
    return JSONResponse({"task_id": task_id}, 202)
