# wrong: all clients of a task read one subscription
# diagnosed: get in each other
import asyncio

from starlette.responses import JSONResponse, StreamingResponse


SHARED = {}


def position(text):
    try:
        return max(0, int(text or 0))
    except ValueError:
        return 0


async def events(log, task_id, after):
    updates = SHARED.setdefault(task_id, log.subscribe(task_id, after=after))
    while True:
        try:
            seq, update = await anext(updates)
        except StopAsyncIteration:
            SHARED.pop(task_id, None)
            return
        except RuntimeError:  # another client waits for it
            await asyncio.sleep(0.5)
            continue
        yield f"id: {seq}\ndata: {update.model_dump_json()}\n\n"


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    log = request.app.state.progress
    if not task_id:
        return JSONResponse({"error": "no task_id"}, 400)
    if not log.exists(task_id):
        return JSONResponse({"error": "no such task"}, 404)
    body = events(log, task_id, position(request.headers.get("last-event-id")))
    return StreamingResponse(body, 200, {"Cache-Control": "no-cache"}, "text/event-stream")
