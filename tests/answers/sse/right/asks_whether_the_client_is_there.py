# right: every few seconds it is asked whether the client is still there, and the waiting goes on where it was
import asyncio

from starlette.responses import JSONResponse, StreamingResponse


class Events:
    """An iterator that is a class; what it waits for survives its own time limit."""

    def __init__(self, request, log, task_id, after):
        self.request, self.updates = request, log.subscribe(task_id, after=after)
        self.waiting = None

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return await self.next()
        except BaseException:
            await self.close()
            raise

    async def next(self):
        if self.waiting is None:
            self.waiting = asyncio.ensure_future(self.updates.__anext__())
        while True:
            if await self.request.is_disconnected():
                raise StopAsyncIteration
            try:
                seq, update = await asyncio.wait_for(asyncio.shield(self.waiting), 5)
            except TimeoutError:
                continue
            self.waiting = None
            return b"id: %d\ndata: %s\n\n" % (seq, update.model_dump_json().encode())

    async def close(self):
        if self.waiting is not None:
            self.waiting.cancel()
            await asyncio.wait({self.waiting})
            self.waiting.done() and not self.waiting.cancelled() and self.waiting.exception()
        await self.updates.aclose()


class Closing(StreamingResponse):
    async def __call__(self, scope, receive, send):
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self.body_iterator.close()


def number(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        return 0


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    if not task_id:
        return JSONResponse({}, 400)
    log = request.app.state.progress
    if not log.exists(task_id):
        return JSONResponse({}, 404)
    events = Events(request, log, task_id, number(request.headers.get("last-event-id")))
    return Closing(events, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
