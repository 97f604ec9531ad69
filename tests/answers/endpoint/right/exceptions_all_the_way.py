# right: every way out but one is an exception that knows its response
import asyncio
import functools
import json

from starlette.responses import JSONResponse, Response

from labkit.errors import QueueFull


class Refused(Exception):
    status, headers = 400, {}

    def response(self):
        return JSONResponse({"error": {"why": str(self)}}, self.status, headers=self.headers)


class Full(Refused):
    status = 429

    def __init__(self, seconds):
        super().__init__("the queue is full")
        whole, rest = divmod(seconds, 1)
        self.headers = {"retry-after": f"{max(1, int(whole) + bool(rest))}"}


def wants(condition, why):
    if not condition:
        raise Refused(why)


async def fields(request):
    pieces = [piece async for piece in request.stream()]
    try:
        found = json.loads(b"".join(pieces))
    except (ValueError, RecursionError) as error:
        raise Refused(f"not JSON: {type(error).__name__}") from None
    wants(isinstance(found, dict), "send an object")
    return found


async def hand_in(queue, **what):
    try:
        return await asyncio.get_running_loop().run_in_executor(None, functools.partial(queue.submit, **what))
    except QueueFull as error:
        raise Full(error.retry_after) from error


async def submit_task(request):
    try:
        found = await fields(request)
        user_input, priority = found.get("user_input"), found.get("priority", 0)
        wants(isinstance(user_input, str), "user_input must be a text")
        wants(user_input.strip() != "", "user_input is empty")
        wants(not isinstance(priority, bool), "priority is no truth value")
        wants(isinstance(priority, int) or (isinstance(priority, float) and priority.is_integer()), "priority is no integer")
        task_id = await hand_in(
            request.app.state.queue,
            user_input=user_input,
            priority=int(priority),
            idempotency_key=request.headers.get("Idempotency-Key"),
        )
    except Refused as refused:
        return refused.response()
    return Response(json.dumps({"task_id": task_id, "state": "pending"}), 202, media_type="application/json")
