"""Shared states over the Model Context Protocol: a resource for each, subscriptions, and one tool that changes one.

Reading gives the newest version with its number. The tool applies a patch to exactly the version that its caller has read: when another
was faster it is refused with the newest version, and nothing has changed. There is no tool that writes a whole state. What a
caller sends wrongly is an error for that caller, and the server goes on. Clients of before 2026-07-28 are served too.

Not handled here: who may call. Whoever reaches the server may read and patch every state in its database.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

import labkit
from labkit.agent.states import AgentStates, KeptState
from labkit.clock import Clock, SystemClock
from labkit.errors import LabkitError
from labkit.mcp_server import tool
from labkit.mcp_server.address import TEMPLATE, ids_of, uri_of
from labkit.mcp_server.answers import answers
from labkit.mcp_server.watch import LIST, MOST, Watch

CONNECTIONS = 8  # to the database, each a thread that waits for it
LOOK_EVERY = 0.2  # seconds between two looks for changes
PAGE = 500  # states in one answer to resources/list
JSON = "application/json"
Context = ServerRequestContext[Any, Any]
_R = TypeVar("_R")


class StateServer:
    """The states as an MCP server. `server` is the SDK's; `streams` its open subscriptions, to be closed before it stops."""

    def __init__(self, states: AgentStates, *, clock: Clock | None = None, look_every: float = LOOK_EVERY) -> None:
        self._states = states
        self._room = anyio.CapacityLimiter(CONNECTIONS)
        self._watch = Watch(self._versions, clock or SystemClock(), look_every)
        self._tasks: TaskGroup
        self.streams = ListenHandler(self._watch.bus)
        self.server = Server(
            "labkit",
            version=labkit.__version__,
            instructions=f"Each resource {TEMPLATE} is what an agent knows of a task. Read it, then change it with {tool.NAME}.",
            lifespan=self._running,
            on_list_resources=answers(self.list_resources),
            on_list_resource_templates=answers(self.list_templates),
            on_read_resource=answers(self.read_resource),
            on_subscribe_resource=answers(self.subscribe),
            on_unsubscribe_resource=answers(self.unsubscribe),
            on_subscriptions_listen=answers(self.listen),
            on_list_tools=answers(self.list_tools),
            on_call_tool=answers(self.call_tool),
        )

    async def list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        after = params.cursor if params is not None else None
        found = await self._ask(self._states.list)
        rest = found if after is None else [ids for ids in found if ids > ids_of(after)]
        more = uri_of(*rest[PAGE - 1]) if rest[PAGE:] else None
        return types.ListResourcesResult(resources=[_resource(*ids) for ids in rest[:PAGE]], next_cursor=more)

    async def list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        told = "what an agent knows of a task: goal, plan, facts, questions, artifacts, and the version of it all"
        one = types.ResourceTemplate(name="state", uri_template=TEMPLATE, description=told, mime_type=JSON)
        return types.ListResourceTemplatesResult(resource_templates=[one])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        kept = await self._ask(self._states.get, *ids_of(params.uri))
        # subtle: json.dumps escapes, so half a surrogate pair, which a model may well say, is text that goes over any wire
        text = json.dumps(content_of(kept))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)]
        )

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted = params.notifications
        uris = set(wanted.resource_subscriptions or ())
        async with self._watch.watching(self._watchable(uris) | ({LIST} if wanted.resources_list_changed else set())):
            return await self.streams(ctx, params)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """The older form: what is told goes to the connection, until that ends or unsubscribes."""
        (uri,) = self._watchable({params.uri})
        async with _subscriptions(ctx) as scopes:
            if uri not in scopes:
                scope = anyio.CancelScope()
                await self._tasks.start(self._serve, scope, uri, ctx.session.send_resource_updated)
                scopes[uri] = scope
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        async with _subscriptions(ctx) as scopes:
            scope = scopes.pop(params.uri, None)
            if scope is not None:
                scope.cancel()
        return types.EmptyResult()

    async def list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.tool()])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != tool.NAME:
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool, only {tool.NAME}")
        try:
            asked = tool.PatchArguments.model_validate(params.arguments or {})
            kept = await self._ask(self._patch, asked)
        except (LabkitError, ValidationError) as error:
            return tool.refused(error)
        return tool.done(uri_of(kept.agent_id, kept.task_id), kept.version)

    def _patch(self, asked: tool.PatchArguments) -> KeptState:
        return self._states.patch(asked.agent_id, asked.task_id, asked.patch, expected=asked.expected_version)

    @asynccontextmanager
    async def _running(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._watch.run)
            yield {}
            self._tasks.cancel_scope.cancel()

    async def _serve(self, scope: anyio.CancelScope, uri: str, tell: Any, *, task_status: Any) -> None:
        with scope:
            async with self._watch.watching([uri]):
                task_status.started()
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has gone
                    await self._watch.relay(uri, tell)

    async def _ask(self, question: Callable[..., _R], *args: Any) -> _R:
        """Ask the database, off the loop."""
        return await anyio.to_thread.run_sync(question, *args, limiter=self._room)

    async def _versions(self, uris: list[str]) -> dict[str, Any]:
        def look() -> dict[str, Any]:
            return {uri: states.count() if uri == LIST else states.version(*ids_of(uri)) for uri in uris}

        states = self._states
        return await self._ask(look)

    def _watchable(self, uris: set[str]) -> set[str]:
        for uri in uris:
            ids_of(uri)
        if not self._watch.room(uris):
            raise MCPError(types.INVALID_PARAMS, f"this server watches at most {MOST} addresses")
        return uris


def content_of(kept: KeptState) -> dict[str, Any]:
    """What a reader is given of a state."""
    state = kept.state.model_dump(mode="json")
    about = {"uri": uri_of(kept.agent_id, kept.task_id), "agent_id": kept.agent_id, "task_id": kept.task_id}
    return {**about, "version": kept.version, "state": state, "plan": state["plan"], "artifacts": state["artifacts"]}


def _resource(agent_id: str, task_id: str) -> types.Resource:
    return types.Resource(name=f"{agent_id}/{task_id}", uri=uri_of(agent_id, task_id), mime_type=JSON)


@asynccontextmanager
async def _subscriptions(ctx: Context) -> AsyncIterator[dict[str, anyio.CancelScope]]:
    """Those of the connection, for one request at a time, or two of one address would both begin; they end with the connection.

    subtle: the session is the request's, only the connection lives on.
    """
    connection = ctx.session._connection
    if "labkit" not in connection.state:
        scopes = dict[str, anyio.CancelScope]()
        connection.state["labkit"] = anyio.Lock(), scopes
        connection.exit_stack.callback(_cancel_all, scopes)
    turn, kept = connection.state["labkit"]
    async with turn:
        yield kept


def _cancel_all(scopes: dict[str, anyio.CancelScope]) -> None:
    for scope in scopes.values():
        scope.cancel()
