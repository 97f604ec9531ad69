# wrong: asks whether the client is there when an update has come, and a Response of its own does not listen
# diagnosed: a disconnect leaves the subscriber open
from contextlib import aclosing

from starlette.responses import JSONResponse, Response


def position(text):
    try:
        return max(0, int(text or 0))
    except ValueError:
        return 0


class Stream(Response):
    def __init__(self, request, updates):
        super().__init__(headers={"Cache-Control": "no-cache"}, media_type="text/event-stream")
        del self.headers["content-length"]
        self.request, self.updates = request, updates

    async def __call__(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self.updates):
            async for seq, update in self.updates:
                if await self.request.is_disconnected():
                    return
                body = f"id: {seq}\ndata: {update.model_dump_json()}\n\n".encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    log = request.app.state.progress
    if not task_id:
        return JSONResponse({"error": "no task_id"}, 400)
    if not log.exists(task_id):
        return JSONResponse({"error": "no such task"}, 404)
    return Stream(request, log.subscribe(task_id, after=position(request.headers.get("last-event-id"))))
