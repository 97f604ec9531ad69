# wrong: strips the task_id and puts it in small letters
# diagnosed: changes the task_id before it asks
from contextlib import aclosing

from starlette.responses import JSONResponse, StreamingResponse


def position(text):
    try:
        return max(0, int(text or 0))
    except ValueError:
        return 0


async def events(log, task_id, after):
    async with aclosing(log.subscribe(task_id, after=after)) as updates:
        async for seq, update in updates:
            yield f"id: {seq}\ndata: {update.model_dump_json()}\n\n"


async def sse_progress(request):
    task_id = (request.query_params.get("task_id") or "").strip().lower()
    log = request.app.state.progress
    if not task_id:
        return JSONResponse({"error": "no task_id"}, 400)
    if not log.exists(task_id):
        return JSONResponse({"error": "no such task"}, 404)
    body = events(log, task_id, position(request.headers.get("last-event-id")))
    return StreamingResponse(body, 200, {"Cache-Control": "no-cache"}, "text/event-stream")
