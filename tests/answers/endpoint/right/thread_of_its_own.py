# right: a plain thread asks the queue, and a future carries the outcome back into the loop
import asyncio
import json
import math
import threading

from starlette.responses import JSONResponse

import labkit


def in_a_thread(call, *arguments, **more):
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(method, value):
        if not future.done():
            method(value)

    def run():
        try:
            value = call(*arguments, **more)
        except BaseException as error:
            loop.call_soon_threadsafe(settle, future.set_exception, error)
        else:
            loop.call_soon_threadsafe(settle, future.set_result, value)

    threading.Thread(target=run, daemon=True).start()
    return future


def problem_with(body):
    if not isinstance(body, dict):
        return "the body is no object"
    text = body.get("user_input")
    if not (isinstance(text, str) and text):
        return "user_input must be a text"
    if "priority" in body and (isinstance(body["priority"], bool) or not isinstance(body["priority"], int)):
        return "priority must be an integer"
    return ""


async def submit_task(request):
    try:
        body = await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if problem := problem_with(body):
        return JSONResponse({"error": problem}, status_code=400)
    submitting = in_a_thread(
        request.app.state.queue.submit,
        body["user_input"],
        priority=body.get("priority", 0),
        idempotency_key=request.headers.get("idempotency-key"),
    )
    try:
        return JSONResponse({"task_id": await submitting}, status_code=202)
    except labkit.QueueFull as full:
        return JSONResponse({}, status_code=429, headers={"Retry-After": str(max(1, math.ceil(full.retry_after)))})
