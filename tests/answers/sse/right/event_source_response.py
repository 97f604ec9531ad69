# right: sse_starlette makes the frames, sends its pings and listens for the disconnect
import asyncio
import re

from sse_starlette import EventSourceResponse
from starlette.responses import PlainTextResponse

from labkit import ProgressLog


async def sse_progress(request):
    task_id = request.query_params.get("task_id", "")
    if task_id == "":
        return PlainTextResponse("which task?", status_code=400)
    log: ProgressLog = request.app.state.progress
    if not await asyncio.to_thread(log.exists, task_id):
        return PlainTextResponse("no such task", status_code=404)
    seen = request.headers.get("Last-Event-ID", "")
    after = int(seen) if re.fullmatch("[0-9]{1,18}", seen) else 0

    async def events():
        async for seq, update in log.subscribe(task_id, after):
            yield {"id": str(seq), "data": update.model_dump_json()}

    return EventSourceResponse(events(), headers={"Cache-Control": "no-cache"}, ping=10)
