# wrong: takes the spaces around the text away
# diagnosed: the text does not reach the queue as it was sent
import asyncio
import json
import math

from starlette.responses import JSONResponse

from labkit import QueueFull


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
    try:
        task_id = await asyncio.to_thread(queue.submit, text.strip(), priority=priority, idempotency_key=key)
    except QueueFull as full:
        seconds = max(1, math.ceil(full.retry_after))
        return JSONResponse({"error": "full"}, 429, {"Retry-After": str(seconds)})
    return JSONResponse({"task_id": task_id}, 202)
