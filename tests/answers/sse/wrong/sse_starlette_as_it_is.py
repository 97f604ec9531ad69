# wrong: leaves Cache-Control to sse_starlette, which says no-store
# diagnosed: no Cache-Control: no-cache
from sse_starlette import EventSourceResponse
from starlette.responses import Response


async def sse_progress(request):
    task_id, log = request.query_params.get("task_id"), request.app.state.progress
    if not task_id:
        return Response(status_code=400)
    if not log.exists(task_id):
        return Response(status_code=404)
    try:
        after = int(request.headers.get("last-event-id") or 0)
    except ValueError:
        after = 0

    async def events():
        async for seq, update in log.subscribe(task_id, after=after):
            yield {"id": str(seq), "data": update.model_dump_json()}

    return EventSourceResponse(events())
