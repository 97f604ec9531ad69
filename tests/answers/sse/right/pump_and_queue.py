# right: a pump moves updates into a queue, the stream reads the queue, and whoever ends cancels the pump
import asyncio
import json
from contextlib import suppress

from starlette.responses import PlainTextResponse, StreamingResponse

END = object()


class Stream:
    def __init__(self, log, task_id, after):
        self.source, self.queue = log.subscribe(task_id, after=after), asyncio.Queue(maxsize=100)

    async def pump(self):
        try:
            async for seq, update in self.source:
                await self.queue.put((seq, json.dumps(update.model_dump(mode="json"))))
        finally:
            await self.source.aclose()
        await self.queue.put(END)

    async def __aiter__(self):
        pump = asyncio.create_task(self.pump())
        ended = asyncio.create_task(self.ended(pump))
        try:
            while (item := await self.queue.get()) is not END:
                yield "\n".join([f"data: {item[1]}", f"id: {item[0]}", "", ""])
        finally:
            for task in (pump, ended):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def ended(self, pump):
        await asyncio.wait({pump})
        if pump.cancelled() or pump.exception():
            await self.queue.put(END)


async def sse_progress(request):
    query, log = request.query_params, request.app.state.progress
    if "task_id" not in query or not query["task_id"]:
        return PlainTextResponse("task_id?", 400)
    if not log.exists(query["task_id"]):
        return PlainTextResponse("unknown", 404)
    text = request.headers.get("last-event-id") or ""
    after = int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else 0
    stream = Stream(log, query["task_id"], after)
    return StreamingResponse(aiter(stream), headers={"Cache-Control": "no-cache"}, media_type="text/event-stream; charset=utf-8")
