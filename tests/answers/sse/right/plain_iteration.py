# right: an `async for` in a generator expression; what nobody holds any more closes itself
from starlette.responses import Response, StreamingResponse


async def sse_progress(request):
    log, query = request.app.state.progress, request.query_params
    if not query.get("task_id"):
        return Response(status_code=400)
    if not log.exists(query["task_id"]):
        return Response(status_code=404)
    try:
        after = int(request.headers.get("last-event-id") or "0")
    except ValueError:
        after = 0
    stream = (
        b"id: " + str(seq).encode() + b"\rdata: " + update.model_dump_json().encode() + b"\r\r"
        async for seq, update in log.subscribe(query["task_id"], after)
    )
    return StreamingResponse(stream, headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
