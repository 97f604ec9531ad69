# right: patterns tell bodies apart, anyio's thread asks the queue, and a lambda holds the arguments
import json
from math import ceil

import anyio.to_thread
from starlette.responses import JSONResponse

from labkit import QueueFull


def parse(raw):
    try:
        return json.loads(raw)
    except Exception:
        return None


async def submit_task(request):
    match parse(await request.body()):
        case {"priority": bool() | str() | float() | None | list() | dict()}:
            problem = "priority is not an integer"
        case {"user_input": str(text), **rest} if len(text) > 0:
            return await accept(request, text, rest.get("priority") or 0)
        case {"user_input": _}:
            problem = "user_input is no text, or an empty one"
        case dict():
            problem = "user_input is missing"
        case _:
            problem = "send a JSON object"
    return JSONResponse({"error": problem}, status_code=400)


async def accept(request, text, priority):
    headers = request.headers
    extra = {"idempotency_key": headers["idempotency-key"]} if "idempotency-key" in headers else {}
    try:
        submitted = await anyio.to_thread.run_sync(lambda: request.app.state.queue.submit(text, priority=priority, **extra))
    except QueueFull as full:
        return JSONResponse(None, 429, headers={"Retry-After": format(max(ceil(full.retry_after), 1), "d")})
    else:
        return JSONResponse(dict(task_id=submitted), 202)
