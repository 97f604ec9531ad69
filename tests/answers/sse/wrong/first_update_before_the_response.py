# wrong: waits for the first update before it begins the response
# diagnosed: a disconnect leaves the subscriber open
from starlette.responses import JSONResponse, StreamingResponse


def position(text):
    try:
        return max(0, int(text or 0))
    except ValueError:
        return 0


async def sse_progress(request):
    task_id, log = request.query_params.get("task_id"), request.app.state.progress
    if not task_id:
        return JSONResponse({"error": "no task_id"}, 400)
    if not log.exists(task_id):
        return JSONResponse({"error": "no such task"}, 404)
    updates = log.subscribe(task_id, after=position(request.headers.get("last-event-id")))
    first = await anext(updates, None)

    async def events():
        entry = first
        while entry is not None:
            yield f"id: {entry[0]}\ndata: {entry[1].model_dump_json()}\n\n"
            entry = await anext(updates, None)

    return StreamingResponse(events(), headers={"Cache-Control": "no-cache"}, media_type="text/event-stream")
