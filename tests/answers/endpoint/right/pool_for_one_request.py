# right: a pool for each request, a time limit around it, and a refusal that is decorated into JSON
import asyncio
import functools
import json
import math
from concurrent.futures import ThreadPoolExecutor

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from labkit import QueueFull


def in_json(handler):
    @functools.wraps(handler)
    async def wrapped(request):
        try:
            return await handler(request)
        except HTTPException as error:
            print("refused:", error.detail)
            return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)

    return wrapped


@in_json
async def submit_task(request):
    try:
        body = json.loads((await asyncio.wait_for(request.body(), 10)).decode())
    except (ValueError, RecursionError):
        raise HTTPException(400, "not JSON") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "not an object")
    if not isinstance(body.get("user_input"), str) or body["user_input"].isspace() or body["user_input"] == "":
        raise HTTPException(400, "no user_input")
    if body.get("priority", 0).__class__ is not int:
        raise HTTPException(400, "no integer")
    call = functools.partial(request.app.state.queue.submit, body["user_input"], priority=body.get("priority", 0))
    try:
        async with asyncio.timeout(5):
            with ThreadPoolExecutor(1) as pool:
                job = pool.submit(call, idempotency_key=request.headers.get("idempotency-key"))
                task_id = await asyncio.wrap_future(job)
    except QueueFull as full:
        headers = {"Retry-After": f"{max(1, math.ceil(full.retry_after))}"}
        raise HTTPException(429, "full", headers) from full
    return JSONResponse({"task_id": task_id}, 202)
