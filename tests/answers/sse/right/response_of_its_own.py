# right: a Response that speaks ASGI itself, with indented JSON over several `data:` lines
import anyio
from starlette.responses import JSONResponse, Response


class Progress(Response):
    media_type = "text/event-stream"

    def __init__(self, log, task_id, after):
        super().__init__(headers={"Cache-Control": "no-cache"})
        del self.headers["content-length"]
        self.log, self.task_id, self.after = log, task_id, after

    async def __call__(self, scope, receive, send):
        async with anyio.create_task_group() as group:
            group.start_soon(self.watch, receive, group.cancel_scope)
            await self.speak(send)
            group.cancel_scope.cancel()

    async def watch(self, receive, scope):
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def speak(self, send):
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        updates = self.log.subscribe(self.task_id, after=self.after)
        try:
            async for entry in updates:
                await send({"type": "http.response.body", "body": frame(*entry), "more_body": True})
        finally:
            with anyio.CancelScope(shield=True):
                await updates.aclose()
        await send({"type": "http.response.body", "body": b""})


def frame(seq, update):
    lines = update.model_dump_json(indent=2).split("\n")
    return "".join([f"id:{seq}\r\n", *(f"data:{line}\r\n" for line in lines), "\r\n"]).encode()


async def sse_progress(request):
    log, task_id = request.app.state.progress, request.query_params.get("task_id")
    problem = 400 if not task_id else 404 if not log.exists(task_id) else None
    if problem:
        return JSONResponse({"error": problem}, status_code=problem)
    try:
        after = int(request.headers["last-event-id"])
    except (KeyError, ValueError):
        after = 0
    return Progress(log, task_id, after)
