# right: a producer beside the response, and a stream in memory between them
from functools import partial

import anyio
from sse_starlette import EventSourceResponse
from starlette.exceptions import HTTPException


async def produce(log, task_id, after, out):
    async with out:
        async for seq, update in log.subscribe(task_id, after=after):
            await out.send({"id": str(seq), "data": update.model_dump_json()})


def number(text):
    try:
        return max(int(text), 0)
    except ValueError:
        return 0


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    if not task_id:
        raise HTTPException(400, "task_id")
    log = request.app.state.progress
    if not log.exists(task_id):
        raise HTTPException(404, task_id.encode("ascii", "replace").decode())
    out, stream = anyio.create_memory_object_stream(10)
    producer = partial(produce, log, task_id, number(request.headers.get("last-event-id", "")), out)
    return EventSourceResponse(stream, data_sender_callable=producer, headers={"Cache-Control": "no-cache"}, ping=1)
