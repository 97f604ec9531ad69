"""Readers of one stream, in one process: all connect, `ready` is said, and at the end whether each had each event in order."""

from __future__ import annotations

import asyncio
import re
import sys
import time

IDS = re.compile(rb"^id: (\d+)", re.MULTILINE)
port, task_id, count, events = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


async def read(opened: asyncio.Queue[None]) -> tuple[bool, float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/progress?task_id={task_id} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    parts = [await reader.readuntil(b"\r\n\r\n")]
    opened.put_nowait(None)
    while part := await reader.read(65_536):
        parts.append(part)
        if part.endswith(b"0\r\n\r\n"):
            break
    at = time.perf_counter()
    writer.close()
    seen = [int(found) for found in IDS.findall(b"".join(parts).replace(b"\r\n", b"\n"))]
    return len(seen) == events and seen == sorted(set(seen)), at


async def main() -> None:
    opened: asyncio.Queue[None] = asyncio.Queue()
    readings = []
    for start in range(0, count, 100):
        readings += [asyncio.create_task(read(opened)) for _ in range(min(100, count - start))]
        for _ in range(min(100, count - start)):
            await opened.get()
    print("ready", flush=True)
    began = time.perf_counter()
    found = await asyncio.gather(*readings)
    print(sum(right for right, _ in found), max(at for _, at in found) - began, flush=True)


asyncio.run(main())
