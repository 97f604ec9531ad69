# right: a task waits for the next update, a comment goes out while it waits, and the task is cancelled at the end
import asyncio

from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

BEAT = 15
TERMINAL = {"completed", "error"}


async def frames(log, task_id, after):
    yield "retry: 2000\n\n"
    updates = log.subscribe(task_id, after)
    coming = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(updates, None))
            done, _ = await asyncio.wait({coming}, timeout=BEAT)
            if not done:
                yield ": still here\n\n"
                continue
            entry, coming = coming.result(), None
            if entry is None:
                return
            seq, update = entry
            yield f"event: progress\nid: {seq}\ndata: {update.model_dump_json()}\n\n"
            if update.status in TERMINAL:
                return
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await updates.aclose()


def last_seen(request):
    header = request.headers.get("last-event-id", "0")
    return int(header) if header.isascii() and header.isdigit() and len(header) < 19 else 0


async def sse_progress(request):
    if not (task_id := request.query_params.get("task_id")):
        raise HTTPException(400, "task_id is missing")
    log = request.app.state.progress
    if not log.exists(task_id):
        raise HTTPException(404, "no such task")
    headers = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
    return StreamingResponse(frames(log, task_id, last_seen(request)), headers=headers, media_type="text/event-stream")
