# right: asks now and then whether the client is there, and the background task of the response closes what is left
import asyncio

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse


class Raw(StreamingResponse):
    """Listens to nobody: its generator asks."""

    async def __call__(self, scope, receive, send):
        try:
            await self.stream_response(send)
        finally:
            await self.body_iterator.aclose()
            await self.background()


async def frames(request, updates):
    coming = None
    try:
        while not await request.is_disconnected():
            coming = coming or asyncio.create_task(anext(updates, None))
            if not (await asyncio.wait({coming}, timeout=1))[0]:
                yield ":\n\n"
            elif coming.result() is None:
                break
            else:
                seq, update = coming.result()
                coming = None
                yield f"id: {seq}\nevent: message\ndata: {update.model_dump_json()}\n\n"
    finally:
        if coming:
            coming.cancel()
            await asyncio.wait({coming})


async def sse_progress(request):
    query, log = dict(request.query_params), request.app.state.progress
    if not query.get("task_id"):
        return Response(status_code=400)
    if not log.exists(query["task_id"]):
        return Response(status_code=404)
    try:
        after = int(request.headers.get("last-event-id") or 0)
    except ValueError:
        after = 0
    updates = log.subscribe(query["task_id"], after)
    closing = BackgroundTask(updates.aclose)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return Raw(frames(request, updates), headers=headers, media_type="text/event-stream", background=closing)
