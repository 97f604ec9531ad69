"""What one would write first: sse-starlette, a queue per subscriber, each event encoded for each of them. Says its port; `go` on stdin starts it."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading

import uvicorn
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

EVENTS = int(sys.argv[1])
subscribers: set[asyncio.Queue[tuple[int, dict[str, object]]]] = set()


async def progress(request: Request) -> EventSourceResponse:
    queue: asyncio.Queue[tuple[int, dict[str, object]]] = asyncio.Queue()
    subscribers.add(queue)

    async def events():
        yield {"comment": "hello"}
        while True:
            seq, update = await queue.get()
            yield {"id": str(seq), "event": "progress", "data": json.dumps(update)}
            if update["status"] == "completed":
                return

    return EventSourceResponse(events())


async def tell() -> None:
    for seq in range(1, EVENTS + 1):
        status = "completed" if seq == EVENTS else "thinking"
        for queue in subscribers:
            queue.put_nowait((seq, {"task_id": "t1", "step": seq, "status": status, "message": "", "total_step": EVENTS, "tool": "", "time": None}))
        await asyncio.sleep(0)


def main() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(2_048)
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=[Route("/api/progress", progress)]), log_level="warning", loop="asyncio"))

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def hear() -> None:
            sys.stdin.readline()
            asyncio.run_coroutine_threadsafe(tell(), loop)

        threading.Thread(target=hear, daemon=True).start()
        print(listening.getsockname()[1], "t1", flush=True)
        await server.serve(sockets=[listening])

    asyncio.run(run())


if __name__ == "__main__":
    main()
