# wrong: as the chapter has it: no ids, no position to go on from, and no question whether the task exists
# diagnosed: does not ask whether the task exists
from starlette.responses import PlainTextResponse, StreamingResponse


async def sse_progress(request):
    task_id = request.query_params.get("task_id")
    if not task_id:
        return PlainTextResponse("task_id required", status_code=400)
    updates = request.app.state.progress.subscribe(task_id)

    async def events():
        try:
            async for _, update in updates:
                yield f"data: {update.model_dump_json()}\n\n"
                if update.status in ("completed", "error"):
                    return
        finally:
            await updates.aclose()

    headers = {"Cache-Control": "no-cache", "Connection": "keep-alive"}
    return StreamingResponse(events(), headers=headers, media_type="text/event-stream")
