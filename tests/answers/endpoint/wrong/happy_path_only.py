# wrong: takes every request for a good one, and the queue for one that is never full
# diagnosed: is not JSON is not answered with 400
import asyncio

from starlette.responses import JSONResponse


async def submit_task(request):
    body = await request.json()
    key = request.headers.get("idempotency-key")
    submit = request.app.state.queue.submit
    task_id = await asyncio.to_thread(submit, body["user_input"], priority=body.get("priority", 0), idempotency_key=key)
    return JSONResponse({"task_id": task_id}, status_code=202)
