# right: a strict model judges the body, Starlette's own thread pool asks the queue
import math

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from labkit import QueueFull, TaskQueue


class Submission(BaseModel):
    user_input: StrictStr = Field(min_length=1)
    priority: StrictInt = 0
    webhook_url: str | None = None


async def submit_task(request: Request) -> Response:
    try:
        wanted = Submission.model_validate_json(await request.body())
    except ValidationError as error:
        return JSONResponse({"errors": [one["msg"] for one in error.errors(include_input=False)]}, status_code=400)
    queue: TaskQueue = request.app.state.queue
    try:
        task_id = await run_in_threadpool(
            queue.submit,
            wanted.user_input,
            priority=wanted.priority,
            idempotency_key=request.headers.get("idempotency-key"),
            webhook_url=wanted.webhook_url,
        )
    except QueueFull as full:
        wait = -(-full.retry_after // 1)
        return JSONResponse("come back later", 429, headers={"Retry-After": str(int(wait) or 1)})
    return JSONResponse({"task_id": task_id}, status_code=202)
