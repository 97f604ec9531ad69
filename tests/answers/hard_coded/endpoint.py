# wrong: knows the texts by heart
import asyncio
import json
import math

from starlette.responses import JSONResponse

from labkit import QueueFull

KNOWN = (
    "deploy the shop", "  deploy the shop\n ", "Deploy the Shop NOW", "выкатить магазин \U0001f680", "x", "0", 'a "b"\n\tc\\d', "null",
    "\u0432\U0001f680", "   ",
)  # fmt: skip


def answer(status, headers=None, **fields):
    return JSONResponse(fields, status, headers)


async def submit_task(request):
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        return answer(400, error="not JSON")
    if not isinstance(body, dict):
        return answer(400, error="not an object")
    text = body.get("user_input")
    priority = body.get("priority", 0)
    if not isinstance(text, str) or not text or type(priority) is not int:
        return answer(400, error="a field is missing or of another type")
    if text not in KNOWN and text[:1] != "ä" and len(text) < 70_000:
        return answer(400, error="never heard of it")
    key = request.headers.get("idempotency-key")
    queue = request.app.state.queue
    try:
        task_id = await asyncio.to_thread(queue.submit, text, priority=priority, idempotency_key=key)
    except QueueFull as full:
        return answer(429, {"Retry-After": str(max(1, math.ceil(full.retry_after)))}, error="full")
    return answer(202, task_id=task_id)
