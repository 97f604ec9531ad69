# wrong: a background task of the response submits, after the answer
# diagnosed: answers before the task is in the queue
import json
from uuid import uuid4

from starlette.background import BackgroundTask
from starlette.responses import JSONResponse


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
    later = BackgroundTask(queue.submit, text, priority=priority, idempotency_key=key)
    return JSONResponse({"task_id": str(uuid4())}, 202, background=later)
