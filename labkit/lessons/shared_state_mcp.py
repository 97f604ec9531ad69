"""Agents that share a state for real: each talks MCP to a server process of its own, and all of these have one database.

`Desk()` makes the database with the state of the story in it, `desk.agent()` starts a server (`labkit mcp`, over stdio) and a client of it.
What an agent is told is plain data. A subscription has begun when `subscribe` returns. All of it ends with `close`, or with this process.

Not handled here: what an agent does (see `shared_state`).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters, stdio_client

import labkit
from labkit.agent.state import Fact
from labkit.agent.states import AgentStates
from labkit.database import open_engine
from labkit.faults.chart_table import Table, table
from labkit.lessons.shared_state import AGENT, START, TASK
from labkit.mcp_server.address import uri_of
from labkit.tables import create_tables

SECONDS = 60.0  # until a server that does not answer counts as gone
URI = uri_of(AGENT, TASK)
_R = TypeVar("_R")


class Agent:
    """A client and its server. Calls wait for their answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, database: Path) -> None:
        self._loop, self._ready = loop, Future[Client]()
        self._leave = asyncio.Event()
        command = ["-m", "labkit", "mcp", "--database-url", f"sqlite:///{database}"]
        env = {"PYTHONPATH": str(Path(labkit.__file__).parents[1])}
        self._server = StdioServerParameters(command=sys.executable, args=command, env=env)
        self._life = asyncio.run_coroutine_threadsafe(self._live(), loop)
        self.client = self._ready.result(SECONDS)

    async def _live(self) -> None:
        """Connect, and stay in the one task that may disconnect."""
        try:
            with open(os.devnull, "w") as nowhere:
                async with Client(stdio_client(self._server, errlog=nowhere)) as client:
                    self._ready.set_result(client)
                    await self._leave.wait()
        except Exception as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    def list(self) -> tuple[str, ...]:
        """The addresses of all states."""
        return tuple(one.uri for one in self._ask(self.client.list_resources()).resources)

    def read(self, uri: str = URI) -> dict[str, Any]:
        """The newest version of a state."""
        (content,) = self._ask(self.client.read_resource(uri)).contents
        found: dict[str, Any] = json.loads(content.model_dump()["text"])
        return found

    def patch(self, expected: int, done: str, plan: tuple[str, ...] | None = None) -> str:
        """Say that a step is done, of the state in version `expected`; what the server answers."""
        patch = {"facts": [Fact(key=done, value="done").model_dump()], "plan": plan}
        asked = {"agent_id": AGENT, "task_id": TASK, "patch": patch, "expected_version": expected}
        answer = self._ask(self.client.call_tool("apply_state_patch", asked))
        told = answer.structured_content
        return f"{told['error']}: {told['message']}" if answer.is_error else f"version {told['version']}"

    def tools(self) -> tuple[str, ...]:
        """What the server can be asked to do."""
        return tuple(tool.name for tool in self._ask(self.client.list_tools()).tools)

    def subscribe(self, uri: str = URI) -> Future[str]:
        """Be told of the next change: the result is the address of what has changed."""
        begun: Future[None] = Future()

        async def follow() -> str:
            async with self.client.listen(resource_subscriptions=[uri]) as changes:
                begun.set_result(None)
                return str((await anext(changes)).uri)  # type: ignore[union-attr]

        told = asyncio.run_coroutine_threadsafe(follow(), self._loop)
        begun.result(SECONDS)
        return told

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._life.result(SECONDS)

    def _ask(self, call: Coroutine[Any, Any, _R]) -> _R:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(SECONDS)


class Desk:
    """A database with the state of the story, and agents around it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._database = Path(self._folder.name) / "tasks.db"
        engine = open_engine(f"sqlite:///{self._database}")
        create_tables(engine)
        AgentStates(engine).begin(AGENT, TASK, START)
        engine.dispose()
        self._agents: list[Agent] = []
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="agents", daemon=True).start()

    def agent(self) -> Agent:
        self._agents.append(Agent(self._loop, self._database))
        return self._agents[-1]

    def close(self) -> None:
        """End the servers and take the database away."""
        while self._agents:
            self._agents.pop().close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._folder.cleanup()


def shown(seen: dict[str, Any]) -> Table:
    """What a reader is given, a row for each field; of the whole state its goal."""
    plain = {**seen, "state": f"{seen['state']['goal']}, and all the rest"}
    lists = {name: ", ".join(value) or "none" for name, value in seen.items() if isinstance(value, list)}
    return table(("field", "value"), (plain | lists).items())
