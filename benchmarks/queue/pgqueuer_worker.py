"""PGQueuer: its own queue manager in drain mode, on asyncpg, with the given batch size."""

from __future__ import annotations

import asyncio

import asyncpg
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from worker import play


def fill(url: str, count: int) -> None:
    async def run() -> None:
        queries = Queries(AsyncpgDriver(await asyncpg.connect(url)))
        await queries.install()
        await queries.enqueue(["nothing"] * count, [b"x"] * count, [0] * count)

    asyncio.run(run())


def work(url: str, name: str, most: int) -> None:
    async def run() -> None:
        manager = QueueManager(Queries(AsyncpgDriver(await asyncpg.connect(url))))

        @manager.entrypoint("nothing")
        async def nothing(job: Job) -> None: ...

        await manager.run(batch_size=max(1, most), mode=QueueExecutionMode.drain)

    asyncio.run(run())


play(fill, work)
