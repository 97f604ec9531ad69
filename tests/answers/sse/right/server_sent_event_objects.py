# right: ServerSentEvent objects, a function that is handed around, no pings, and no word on what is closed when
from contextlib import aclosing
from functools import partial

from sse_starlette.sse import EventSourceResponse
from sse_starlette.event import ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response


def as_event(entry):
    seq, update = entry
    return ServerSentEvent(update.model_dump_json(exclude_defaults=True), id=str(seq), event="progress", sep="\n")


async def listen(subscribe):
    async with aclosing(subscribe()) as entries:
        async for entry in entries:
            yield as_event(entry)
            if entry[1].terminal:
                break


def parse(header):
    digits = header.strip()
    return int(digits[:18]) if digits and set(digits) <= set("0123456789") else 0


def sse_progress(request: Request):
    return _progress(request)


async def _progress(request):
    match request.query_params.get("task_id"):
        case None | "":
            return Response("task_id is needed", 400)
        case task_id if not request.app.state.progress.exists(task_id):
            return Response(f"there is no task {task_id}", 404)
    subscribe = partial(request.app.state.progress.subscribe, task_id, after=parse(request.headers.get("last-event-id", "")))
    return EventSourceResponse(listen(subscribe), ping=0, headers={"Cache-Control": "No-Cache"})
