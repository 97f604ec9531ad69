# right: a subscription for each event, each closed before the event is sent
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse


async def next_after(log, task_id, after):
    async with aclosing(log.subscribe(task_id, after=after)) as updates:
        async for entry in updates:
            return entry
    return None


async def frames(log, task_id, after):
    while (entry := await next_after(log, task_id, after)) is not None:
        after, update = entry
        yield f"id: {after}\n"
        yield f"data: {update.model_dump_json()}\n\n"


async def sse_progress(request):
    task_id, log = request.query_params.get("task_id"), request.app.state.progress
    if not task_id:
        return Response("which task?", 400)
    if not log.exists(task_id):
        return Response("no such task", 404)
    try:
        after = int(request.headers.get("last-event-id") or 0)
    except ValueError:
        after = 0
    headers = {"Cache-Control": "no-cache, no-store"}
    return StreamingResponse(frames(log, task_id, after), headers=headers, media_type="text/event-stream")
