# wrong: heartbeats are events with ids
# diagnosed: not JSON
import asyncio

from starlette.responses import JSONResponse, StreamingResponse


def position(text):
    try:
        return max(0, int(text or 0))
    except ValueError:
        return 0


async def events(log, task_id, after):
    updates, waiting = log.subscribe(task_id, after=after), None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(updates, None))
            done, _ = await asyncio.wait({waiting}, timeout=15)
            if not done:
                yield f"id: {after}\ndata: still here\n\n"
                continue
            entry, waiting = waiting.result(), None
            if entry is None:
                return
            after, update = entry
            yield f"id: {after}\ndata: {update.model_dump_json()}\n\n"
    finally:
        if waiting:
            waiting.cancel()
            await asyncio.wait({waiting})
        await updates.aclose()


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    log = request.app.state.progress
    if not task_id:
        return JSONResponse({"error": "no task_id"}, 400)
    if not log.exists(task_id):
        return JSONResponse({"error": "no such task"}, 404)
    body = events(log, task_id, position(request.headers.get("last-event-id")))
    return StreamingResponse(body, 200, {"Cache-Control": "no-cache"}, "text/event-stream")
