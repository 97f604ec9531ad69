# wrong: takes every client for a new one, and every task for one that is there
# diagnosed: does not ask for a task_id
from starlette.responses import StreamingResponse


async def sse_progress(request):
    log = request.app.state.progress

    async def events():
        async for seq, update in log.subscribe(request.query_params["task_id"]):
            yield f"id: {seq}\ndata: {update.model_dump_json()}\n\n"

    return StreamingResponse(events(), headers={"Cache-Control": "no-cache"}, media_type="text/event-stream")
