# right: a Response with a task group, of which the listener cancels the writer
import asyncio

from starlette.responses import JSONResponse, Response


class Stream(Response):
    media_type = "text/event-stream"

    def __init__(self, updates):
        self.updates, self.status_code, self.background = updates, 200, None
        self.init_headers({"cache-control": "no-cache"})

    async def __call__(self, scope, receive, send):
        try:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self.write(send))
                listening = group.create_task(self.listen(receive, writing))
                await asyncio.wait({writing})
                listening.cancel()
        finally:
            await self.updates.aclose()

    async def listen(self, receive, writing):
        while (await receive())["type"] != "http.disconnect":
            pass
        writing.cancel()

    async def write(self, send):
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for seq, update in self.updates:
            body = f": next\nid: {seq}\ndata: {update.model_dump_json()}\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def sse_progress(request):
    log, task_id = request.app.state.progress, request.query_params.get("task_id")
    for wrong, status in ((not task_id, 400), (task_id and not log.exists(task_id), 404)):
        if wrong:
            return JSONResponse({"status": status}, status)
    seen = request.headers.get("last-event-id", "")
    return Stream(log.subscribe(task_id, after=int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 19 else 0))
