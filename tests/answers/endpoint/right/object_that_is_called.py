# right: the endpoint is an object with a pool of its own, and the result is polled for
import asyncio
import json
import math
from concurrent.futures import ThreadPoolExecutor

from starlette.responses import JSONResponse

from labkit import QueueFull


class Endpoint:
    def __init__(self):
        self.pool = ThreadPoolExecutor(4)

    async def __call__(self, request):
        body = self.read(await request.body())
        if isinstance(body, str):
            return JSONResponse({"error": body}, 400)
        key = request.headers.get("idempotency-key")
        submitting = self.pool.submit(request.app.state.queue.submit, *body[:1], priority=body[1], idempotency_key=key)
        while not submitting.done():
            await asyncio.sleep(0.001)
        try:
            return JSONResponse({"task_id": submitting.result()}, 202)
        except QueueFull as full:
            return self.full(full.retry_after)

    def read(self, raw):
        try:
            body = json.loads(raw.decode())
            return self.checked(**{name: body[name] for name in ("user_input", "priority") if name in body})
        except (ValueError, TypeError, RecursionError) as error:
            return f"bad body: {error}"[:200]

    def checked(self, user_input, priority=0):
        if type(user_input) is not str or type(priority) is not int:
            raise TypeError("user_input is a text, priority an integer")
        if user_input == "":
            raise ValueError("user_input is empty")
        return [user_input, priority]

    def full(self, seconds):
        return JSONResponse({"error": "full"}, 429, headers={"Retry-After": str(math.ceil(max(seconds, 1)))})


submit_task = Endpoint()
