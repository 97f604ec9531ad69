# wrong: sends what the example sends
# diagnosed: an event that is no update of the log
from starlette.responses import JSONResponse, StreamingResponse


def position(text):
    try:
        return max(0, int(text or 0))
    except ValueError:
        return 0


async def events(log, task_id, after):
    yield 'id: 3\ndata: {"task_id": "t-42", "step": 1, "status": "thinking"}\n\n'
    yield 'id: 12\ndata: {"task_id": "t-42", "step": 4, "status": "completed"}\n\n'


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    log = request.app.state.progress
    if not task_id:
        return JSONResponse({"error": "no task_id"}, 400)
    if not log.exists(task_id):
        return JSONResponse({"error": "no such task"}, 404)
    body = events(log, task_id, position(request.headers.get("last-event-id")))
    return StreamingResponse(body, 200, {"Cache-Control": "no-cache"}, "text/event-stream")
