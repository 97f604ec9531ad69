# right: a plain function that returns a coroutine; the submit has half a minute, and goes on when the client does not
import asyncio
import json
import math
from functools import partial

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from labkit import QueueFull

PLAIN = (("user_input", str), ("priority", int))


def submit_task(request):
    return _submit(request, request.app.state.queue)


async def _submit(request, queue):
    try:
        body = await _body(request)
    except HTTPException as error:
        return JSONResponse({"detail": error.detail}, status_code=error.status_code)
    call = partial(queue.submit, idempotency_key=request.headers.get("idempotency-key"), **body)
    submitting = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        task_id = await asyncio.wait_for(asyncio.shield(submitting), timeout=30)
    except QueueFull as full:
        return JSONResponse({"error": "full"}, status_code=429, headers={"Retry-After": str(math.ceil(full.retry_after) or 1)})
    except TimeoutError:
        return JSONResponse({"error": "the queue does not answer"}, status_code=503)
    return JSONResponse({"task_id": task_id}, status_code=202, headers={"Location": "/api/tasks"})


async def _body(request):
    try:
        body = json.loads(await request.body(), parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        raise HTTPException(400, "not JSON") from None
    if not isinstance(body, dict) or not body.get("user_input"):
        raise HTTPException(400, "an object with a user_input, please")
    for name, kind in PLAIN:
        if name in body and type(body[name]) is not kind:
            raise HTTPException(400, f"{name} must be {kind.__name__}")
    return {name: body[name] for name, _ in PLAIN if name in body}
