# right: one thread for all requests takes calls out of an inbox, and never ends
import asyncio
import json
import math
import queue
import threading

from starlette.responses import JSONResponse

from labkit import QueueFull

INBOX = queue.SimpleQueue()


def work():
    while True:
        loop, settle, call = INBOX.get()
        try:
            outcome = ("set_result", call())
        except BaseException as error:
            outcome = ("set_exception", error)
        loop.call_soon_threadsafe(settle, *outcome)


def ask(call):
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    INBOX.put((loop, lambda method, value: future.done() or getattr(future, method)(value), call))
    return future


threading.Thread(target=work, daemon=True).start()


async def submit_task(request):
    try:
        body = json.loads(await request.body())
        user_input = body["user_input"] if isinstance(body, dict) else None
        rest = {"priority": body["priority"]} if isinstance(body, dict) and "priority" in body else {}
    except (ValueError, KeyError, RecursionError):
        user_input, rest = None, {}
    if not isinstance(user_input, str) or not user_input or any(type(value) is not int for value in rest.values()):
        return JSONResponse({"error": "a user_input, and an integer for a priority"}, 400)
    rest["idempotency_key"] = request.headers.get("idempotency-key")
    try:
        task_id = await ask(lambda: request.app.state.queue.submit(user_input, **rest))
    except QueueFull as full:
        return JSONResponse({"error": "full"}, 429, {"Retry-After": str(max(1, math.ceil(full.retry_after)))})
    return JSONResponse({"task_id": task_id}, 202)
