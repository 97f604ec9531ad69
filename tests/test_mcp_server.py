"""Agents in processes of their own share a state over MCP, through the SDK's own client: stdio on SQLite, HTTP on PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import mcp_types as types
import psutil
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from sqlalchemy import Engine, text

import labkit.mcp_server.command
import labkit.mcp_server.server
from labkit import cli
from labkit.agent.state import AgentState, Artifact, Fact, StatePatch
from labkit.agent.states import AgentStates
from labkit.clock import SystemClock
from labkit.database import open_engine
from labkit.mcp_server.address import ids_of, uri_of
from labkit.mcp_server.server import StateServer
from labkit.tables import create_tables
from tests.checkout import ROOT

SECONDS = 30  # until something that is waited for counts as never coming
GOAL = AgentState(goal="deploy shop", plan=["build", "route"])
ODD = [("a/b", "c?d#e"), ("100%", "%2F"), ("ä \N{ROCKET}", "\n\t"), (".", ".."), ("state://agents/x", "tasks/y"), ("a+b", "c&d")]


def command(url: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "labkit", "mcp", "--database-url", url, *options]


@contextmanager
def http_server(url: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process on a free port, and its address; ended by SIGTERM, which it answers with 0, complaining of nothing but foreign requests."""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command(url, "--http", "0"), env=env, **streams)
    watchdog = threading.Timer(4 * SECONDS, process.kill)
    watchdog.start()
    try:
        yield process, process.stdout.readline().removeprefix("serving at ").strip()
        process.terminate()
        out, err = process.communicate(timeout=SECONDS)
        complaints = [line for line in err.splitlines() if not line.startswith(("Invalid Host header: ", "Invalid Origin header: "))]
        assert (0, "", []) == (process.returncode, out, complaints)
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """The event loop of all clients, in a thread."""
    with start_blocking_portal() as portal:
        yield portal


class Agent:
    """A client of its own, with calls that wait for their answer."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self.client = portal, client

    def ask(self, call: Callable[..., Any], *args: Any) -> Any:
        async def bounded() -> Any:
            with anyio.fail_after(SECONDS):
                return await call(*args)

        return self._portal.call(bounded)

    def read(self, uri: str) -> dict[str, Any]:
        (content,) = self.ask(self.client.read_resource, uri).contents
        assert (uri, "application/json") == (content.uri, content.mime_type)
        return json.loads(content.text)

    def patch(self, ids: tuple[str, str], patch: Any, expected: Any) -> types.CallToolResult:
        asked = {"agent_id": ids[0], "task_id": ids[1], "patch": patch, "expected_version": expected}
        return self.ask(self.client.call_tool, "apply_state_patch", asked)

    def note(self, ids: tuple[str, str], key: str) -> int:
        """Add a fact, however often another was faster; how often that was."""
        refused = 0
        while True:
            seen = self.read(uri_of(*ids))["version"]
            answer = self.patch(ids, {"facts": [{"key": key, "value": "yes"}]}, seen)
            if not answer.is_error:
                return refused
            assert "StaleState" == answer.structured_content["error"]
            refused += 1


@contextmanager
def agents(portal: BlockingPortal, *servers: Any) -> Iterator[list[Agent]]:
    """A client for each server."""
    with portal.wrap_async_context_manager(Client(servers[0])) as client:
        rest = agents(portal, *servers[1:]) if servers[1:] else None
        if rest is None:
            yield [Agent(portal, client)]
        else:
            with rest as others:
                yield [Agent(portal, client), *others]


@pytest.fixture(scope="module")
def stdio(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """Agents A and B, each with a server process of its own; `states` is what a third process sees."""
    url = f"sqlite:///{tmp_path_factory.mktemp('mcp')}/tasks.db"
    engine = open_engine(url)
    create_tables(engine)
    own = [StdioServerParameters(command=words[0], args=words[1:], env={"PYTHONPATH": str(ROOT)}) for words in [command(url)] * 2]
    with agents(portal, *own) as (a, b):
        yield SimpleNamespace(a=a, b=b, states=AgentStates(engine), engine=engine)
    engine.dispose()


@pytest.fixture(scope="module")
def http(portal: BlockingPortal, postgres_url: str) -> Iterator[SimpleNamespace]:
    """The same with one server process for both. When it is told to end while one listens, that one is told that it was on purpose."""
    engine = open_engine(postgres_url)
    create_tables(engine)
    with http_server(postgres_url) as (process, address), agents(portal, address, address) as (a, b):
        yield SimpleNamespace(a=a, b=b, states=AgentStates(engine), engine=engine, process=process, address=address)

        async def follow() -> int:
            async with a.client.listen(resource_subscriptions=[uri_of("a", "t")]) as changes:
                process.terminate()
                return len([change async for change in changes])  # an end that was not told would raise

        assert 0 == a.ask(follow)
    engine.dispose()


@pytest.fixture(params=["stdio", pytest.param("http", marks=pytest.mark.postgres)])
def link(request: pytest.FixtureRequest) -> SimpleNamespace:
    """Either way to connect."""
    chosen: SimpleNamespace = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def task(link: SimpleNamespace, request: pytest.FixtureRequest) -> tuple[str, str]:
    """The ids of a state of this test's own, at version 1."""
    ids = ("a", request.node.name)
    link.states.begin(*ids, GOAL)
    return ids


def test_an_agent_goes_on_where_another_stopped(link: SimpleNamespace, task: tuple[str, str]) -> None:
    """A writes what it did; B, which was never told, finds the resource, reads all of it and writes the rest; A reads that."""
    uri = uri_of(*task)
    artifact = Artifact(artifact_id="sha1", type="log", summary="built", bytes=5).model_dump()
    did = link.a.patch(task, {"facts": [{"key": "built", "value": "v2"}], "plan": ["route"], "artifacts": [artifact]}, 1)
    assert (False, {"uri": uri, "version": 2}) == (did.is_error, did.structured_content)
    assert uri in [one.uri for one in link.b.ask(link.b.client.list_resources).resources]
    seen = link.b.read(uri)
    assert {"uri", "agent_id", "task_id", "version", "state", "plan", "artifacts"} == seen.keys()
    assert (uri, *task, 2) == (seen["uri"], seen["agent_id"], seen["task_id"], seen["version"])
    assert (["route"], [artifact]) == (seen["plan"], seen["artifacts"])
    assert link.states.get(*task).state == AgentState.model_validate(seen["state"])
    link.b.patch(task, {"plan": []}, seen["version"])
    assert (3, []) == (link.a.read(uri)["version"], link.a.read(uri)["plan"])


def test_a_stale_patch_is_refused_with_the_newest_version(link: SimpleNamespace, task: tuple[str, str]) -> None:
    """Both have read version 1: the second is told 2, nothing has changed, and with 2 it gets in."""
    link.a.patch(task, {"facts": [{"key": "A", "value": "x"}]}, 1)
    refused = link.b.patch(task, {"facts": [{"key": "B", "value": "x"}]}, 1)
    assert (True, "StaleState", 2) == (refused.is_error, refused.structured_content["error"], refused.structured_content["version"])
    assert "is not the newest, 2 is: read it and apply again" in refused.content[0].text
    assert [Fact(key="A", value="x")] == link.states.get(*task).state.known_facts
    assert 3 == link.b.patch(task, {"facts": [{"key": "B", "value": "x"}]}, refused.structured_content["version"]).structured_content["version"]


def test_two_agents_at_once_lose_nothing(link: SimpleNamespace, task: tuple[str, str]) -> None:
    """Each writes five facts as fast as it can; all ten are there, and each write that went through is one version."""
    names = {agent: [f"{name}{number}" for number in range(5)] for agent, name in ((link.a, "A"), (link.b, "B"))}
    threads = [threading.Thread(target=lambda a=a, keys=keys: [a.note(task, key) for key in keys]) for a, keys in names.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SECONDS)
    kept = link.states.get(*task)
    noted = sorted(key for keys in names.values() for key in keys)
    assert (11, noted) == (kept.version, sorted(fact.key for fact in kept.state.known_facts))


def test_odd_ids(link: SimpleNamespace) -> None:
    """Whatever ids hold, the list gives an address that reads and patches exactly that state."""
    for ids in ODD:
        link.states.begin(*ids, AgentState(goal=f"half a pair \ud800 {ids}"))
    listed = {one.uri for one in link.a.ask(link.a.client.list_resources).resources}
    for ids in ODD:
        assert uri_of(*ids) in listed
        found = link.a.read(uri_of(*ids))
        assert (ids, f"half a pair \ud800 {ids}") == ((found["agent_id"], found["task_id"]), found["state"]["goal"])
        assert 2 == link.a.patch(ids, {"plan": ["x"]}, 1).structured_content["version"]


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("state://agents/a/tasks/never", "has no state of task 'never'"),
        ("state://agents//tasks/t", "is no address of a state"),
        ("state://agents/a/tasks/", "is no address of a state"),
        ("state://agents/a/b/tasks/t", "is no address of a state"),
        ("state://agents/a/tasks/%zz", "is no address of a state"),
        ("state://agents/a/tasks/t?x=1", "is no address of a state"),
        ("state://agents/a/tasks/%ff", "must be UTF-8"),
        ("state://agents/a/tasks/%00", "task_id holds U+0000"),
        (f"state://agents/a/tasks/{'x' * 2_000}", "more than 1000"),
        ("https://example.org/", "is no address of a state"),
        ("", "is no address of a state"),
    ],
)
def test_what_cannot_be_read(link: SimpleNamespace, uri: str, why: str) -> None:
    """It is an error that says why, and the next call is answered."""
    with pytest.raises(MCPError, match=re.escape(why)) as told:
        link.b.ask(link.b.client.read_resource, uri)
    assert types.INVALID_PARAMS == told.value.code
    assert link.b.ask(link.b.client.list_tools).tools


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"patch": {"facts": [{"key": "k"}]}}, "patch.facts.0.value: Field required"),
        ({"patch": {"goal": "mine"}}, "patch.goal: Extra inputs are not permitted"),
        ({"patch": "x"}, "patch: Input should be a valid dictionary"),
        ({"patch": {"plan": ["x"] * 3 + [1, 2, 3, 4]}}, "and 1 more"),
        ({"patch": {"plan": ["x" * 2**20]}}, "put large results into the ArtifactStore"),
        ({"expected_version": "1"}, "expected_version: Input should be a valid integer"),
        ({"expected_version": True}, "expected_version: Input should be a valid integer"),
        ({"expected_version": None}, "expected_version: Input should be a valid integer"),
        ({"expected_version": 0}, "expected_version: Input should be greater than or equal to 1"),
        ({"expected_version": 10**30}, "expected must be an int of 64 bits"),
        ({"agent_id": ""}, "agent_id: String should have at least 1 character"),
        ({"agent_id": "a\x00"}, "agent_id holds U+0000"),
        ({"agent_id": 3}, "agent_id: Input should be a valid string"),
        ({"task_id": "never"}, "has no state of task 'never'"),
        ({"patch": {"\n" + "Z" * 30_000: 1}}, "ZZ: Extra inputs are not permitted"),
        ({"state": {}}, "state: Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_patched(link: SimpleNamespace, change: dict[str, Any], why: str) -> None:
    """It is a refusal that a model can read, and nothing has changed."""
    link.states.begin("a", "patched", GOAL)
    asked = {"agent_id": "a", "task_id": "patched", "patch": {"plan": []}, "expected_version": 1} | change
    refused = link.a.ask(link.a.client.call_tool, "apply_state_patch", asked)
    assert (True, True, True) == (refused.is_error, why in refused.content[0].text, len(refused.content[0].text) <= 300), refused
    assert (1, GOAL) == (link.states.get("a", "patched").version, link.states.get("a", "patched").state)


def test_the_only_tool(link: SimpleNamespace) -> None:
    """Its schema says what it takes; another tool, one that would write a whole state, does not exist."""
    (tool,) = link.a.ask(link.a.client.list_tools).tools
    assert ["agent_id", "task_id", "patch", "expected_version"] == tool.input_schema["required"]
    with pytest.raises(MCPError, match="there is no such tool, only apply_state_patch"):
        link.a.ask(link.a.client.call_tool, "write_state", {})


def test_a_damaged_state(link: SimpleNamespace, task: tuple[str, str]) -> None:
    """It is said to be damaged, to a reader and to a patch."""
    with link.engine.begin() as connection:
        connection.execute(text("UPDATE agent_states SET state = 'x' WHERE task_id = :id"), {"id": task[1]})
    with pytest.raises(MCPError, match="is damaged"):
        link.a.read(uri_of(*task))
    assert "StoreCorrupt" == link.a.patch(task, {"plan": []}, 1).structured_content["error"]


def test_a_subscriber_is_told(link: SimpleNamespace, task: tuple[str, str]) -> None:
    """Of a change by another process, of one by the other agent, and of a state that begins; also under another spelling of the address."""
    spelled, new = uri_of(*task).replace("/a/", "/%61/"), uri_of("a", f"{task[1]} new")

    async def follow() -> list[str]:
        told = []
        async with link.b.client.listen(resource_subscriptions=[spelled, new], resources_list_changed=True) as changes:
            for change in (
                lambda: link.states.patch(*task, StatePatch(plan=["by a third"])),
                lambda: link.a.patch(task, {"plan": ["by A"]}, 2),
                lambda: link.states.begin(*ids_of(new), GOAL),
            ):
                await anyio.to_thread.run_sync(change)
                told.append(str(await anext(changes)))
            told.append(str(await anext(changes)))
        return told

    one, two, *begun = link.b.ask(follow)
    assert one == two == f"ResourceUpdated(uri={spelled!r})"
    assert {f"ResourceUpdated(uri={new!r})", "ResourcesListChanged()"} == set(begun)


def test_what_cannot_be_subscribed_to(link: SimpleNamespace) -> None:
    """An address that is none, and more than a server watches."""

    async def follow(uris: list[str]) -> None:
        async with link.b.client.listen(resource_subscriptions=uris):
            raise AssertionError("it was confirmed")

    for uris, why in ((["state://x"], "no address"), ([uri_of("a", str(n)) for n in range(1_001)], "at most 1000")):
        with pytest.raises(MCPError, match=why):
            link.b.ask(follow, uris)


class Ticking(SystemClock):
    """A clock on which each wait lasts until the test says so."""

    def __init__(self) -> None:
        self.waits, self.goes = anyio.Event(), anyio.Event()

    async def asleep(self, seconds: float) -> None:
        self.waits.set()
        await self.goes.wait()
        self.goes = anyio.Event()

    async def tick(self) -> None:
        """Let one look happen."""
        self.waits = anyio.Event()
        self.goes.set()
        await self.waits.wait()


def in_process(states: AgentStates, story: Callable[..., Any], **options: Any) -> None:
    """Run the story with a client of a server in this process."""

    async def run() -> None:
        clock, told = Ticking(), []

        async def hear(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                told.append(message.params.uri)

        with anyio.fail_after(SECONDS):
            server = StateServer(states, clock=clock).server
            async with Client(server, message_handler=hear, **options) as client:
                await story(client, clock, told)

    anyio.run(run)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_an_older_client(sqlite: Engine) -> None:
    """It subscribes in the older way, is told of what changed between two looks once, and after it unsubscribed no more."""
    states, (one, two) = AgentStates(sqlite), (uri_of("a", "1"), uri_of("a", "2"))
    for uri in (one, two):
        states.begin(*ids_of(uri), GOAL)

    async def story(client: Client, clock: Ticking, told: list[str]) -> None:
        for uri in (one, one, two):
            await client.subscribe_resource(uri)
        for plan in (["x"], ["y"]):
            states.patch("a", "1", StatePatch(plan=plan))
        await clock.tick()
        await client.read_resource(one)
        assert [one] == told
        await client.unsubscribe_resource(one)
        for task_id in ("1", "2"):
            states.patch("a", task_id, StatePatch(plan=["z"]))
        await clock.tick()
        await client.read_resource(one)
        assert [one, two] == told
        with pytest.raises(MCPError, match="no address"):
            await client.subscribe_resource("state://x")

    in_process(states, story, mode="legacy")


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_an_older_client_that_subscribes_twice_at_once(sqlite: Engine) -> None:
    """It is told once, and after it unsubscribed no more; so it is when it comes back."""
    states, uri = AgentStates(sqlite), uri_of("a", "1")
    states.begin("a", "1", GOAL)

    async def story(client: Client, clock: Ticking, told: list[str]) -> None:
        for number in (1, 2):
            async with anyio.create_task_group() as both:
                for _ in range(2):
                    both.start_soon(client.subscribe_resource, uri)
            states.patch("a", "1", StatePatch(plan=[f"x{number}"]))
            await clock.tick()
            await client.read_resource(uri)
            assert [uri] * number == told
            await client.unsubscribe_resource(uri)
            states.patch("a", "1", StatePatch(plan=[f"y{number}"]))
            await clock.tick()
            await client.read_resource(uri)
            assert [uri] * number == told

    in_process(states, story, mode="legacy")


def test_a_list_in_pages(sqlite: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each state once, in order, however many pages; a cursor that was never given is refused."""
    monkeypatch.setattr(labkit.mcp_server.server, "PAGE", 2)
    states = AgentStates(sqlite)
    for task_id in "eadcb":
        states.begin("a", task_id, GOAL)

    async def story(client: Client, clock: Ticking, told: list[str]) -> None:
        cursor, pages = None, []
        while cursor or not pages:
            page = await client.list_resources(cursor=cursor)
            pages.append([ids_of(one.uri)[1] for one in page.resources])
            cursor = page.next_cursor
        assert [["a", "b"], ["c", "d"], ["e"]] == pages
        with pytest.raises(MCPError, match="no address"):
            await client.list_resources(cursor="2")

    in_process(states, story)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_database_that_is_gone(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """A client is told nothing of what the driver says, the log no password, and the server looks again."""
    states = AgentStates(open_engine("postgresql://agent:geheim@127.0.0.1:1/shop?connect_timeout=2"))

    async def story(client: Client, clock: Ticking, told: list[str]) -> None:
        for call in (client.list_resources(), client.read_resource(uri_of("a", "t"))):
            with pytest.raises(MCPError, match="this server could not answer; its log says why") as error:
                await call
            assert types.INTERNAL_ERROR == error.value.code
        with pytest.raises(MCPError, match="could not answer"):
            await client.call_tool("apply_state_patch", {"agent_id": "a", "task_id": "t", "patch": {}, "expected_version": 1})

    in_process(states, story, mode=mode)
    assert re.search("read_resource failed: OperationalError: .*Connection refused", caplog.text)
    assert "geheim" not in caplog.text


@settings(max_examples=30)
@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_an_address_leads_back(agent_id: str, task_id: str) -> None:
    """To exactly these ids, and it is printable ASCII."""
    uri = uri_of(agent_id, task_id)
    assert (agent_id, task_id) == ids_of(uri)
    assert uri.isascii()
    assert uri.isprintable()


def test_stdout_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """Whatever is sent, each line that comes is an answer, also to what is no request; and the process ends with its client, without a word."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    broken = ["no JSON {", '{"jsonrpc":"2.0","id":"half","method":"ping","params":{"id":1,"x":"\\ud800"}}',
              f'{{"jsonrpc":"2.0","params":{{"x":{"[" * 3_000}{"]" * 3_000}}},"id":41,"method":"ping"}}',
              '{"jsonrpc":"2.0","id":42}', '{"jsonrpc":"2.0","id":43,"method":"ping","params":[1]}', "[]", "7"]  # fmt: skip
    asked = [("initialize", hello), ("nonsense", {}), ("resources/read", {"uri": 3}), ("resources/read", None),
             ("tools/call", {"name": "apply_state_patch", "arguments": [1]}), ("resources/list", {})]  # fmt: skip
    with subprocess.Popen(command(f"sqlite:///{tmp_path}/tasks.db"), env=env, **streams) as process:
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        answers, refusals = [], []
        for number, (method, params) in enumerate(asked):
            for line in broken:
                print("", line, sep="\n", file=process.stdin, flush=True)
                refusals.append(json.loads(process.stdout.readline()))
            request = {"jsonrpc": "2.0", "id": number, "method": method} | ({} if params is None else {"params": params})
            print(json.dumps(request), file=process.stdin, flush=True)
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert (0, "", "") == (process.wait(SECONDS), process.stdout.read(), process.stderr.read())
        watchdog.cancel()
    assert [None, "half", 41, 42, 43, None, None] * len(asked) == [refusal["id"] for refusal in refusals]
    assert ([-32700] * 3 + [-32600] * 4) * len(asked) == [refusal["error"]["code"] for refusal in refusals]
    assert all(len(json.dumps(refusal)) < 200 for refusal in refusals)
    assert list(range(len(asked))) == [answer["id"] for answer in answers]
    assert [None, -32601, -32602, -32602, -32602, None] == [answer.get("error", {}).get("code") for answer in answers]


@pytest.mark.postgres
def test_who_may_reach_the_server_over_http(http: SimpleNamespace) -> None:
    """It listens at 127.0.0.1 alone, and refuses what a page under another name would send."""
    listening = [c.laddr.ip for c in psutil.Process(http.process.pid).net_connections() if c.status == psutil.CONN_LISTEN]
    assert ["127.0.0.1"] == listening
    foreign = [({"Host": "labkit.example"}, 421), ({"Host": "127.0.0.1.example:80"}, 421), ({"Origin": "https://labkit.example"}, 403)]
    with httpx.Client(headers={"Accept": "application/json, text/event-stream"}) as browser:
        for headers, status in foreign:
            assert status == browser.post(http.address, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers).status_code
        for body in ("{", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}', "[" * 3_000 + "]" * 3_000):
            assert 400 == browser.post(http.address, content=body, headers={"Content-Type": "application/json"}).status_code
    assert http.b.ask(http.b.client.list_tools).tools


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--database-url", "geheim"], "--database-url is no database URL"),
        (["--database-url", "sqlite://"], "names no file that several processes could share"),
        (["--database-url", "mysql://agent:geheim@host/shop"], "names mysql; it must be"),
        (["--database-url", "postgresql://agent:geheim@127.0.0.1:1/shop?password=geheim"], "Connection refused; look whether"),
        (["--database-url", "postgresql://agent:geheim@host:geheim/shop"], "in user or password are %2F"),
        (["--database-url", "postgresql://agent/x:geheim@host/shop"], "in user or password are %2F"),
        (["--database-url", "sqlite:////nowhere/tasks.db"], "make the folder /nowhere first"),
        (["--database-url", "sqlite:///tasks.db?geheim=1"], "behind the ? there is an option that SQLite does not know"),
        (["--database-url", "sqlite:///tasks.db?mode=ro"], "goes with uri=true"),
        (["--database-url", "sqlite:///file:tasks.db?uri=true&geheim=1"], "behind the ? there is an option that SQLite does not know"),
        (["--database-url", "sqlite:///tasks.db?timeout=1&timeout=2"], "timeout is given twice"),
        (["--database-url", "sqlite:///tasks.db?timeout=geheim"], "timeout is no number"),
        (["--database-url", "postgresql://agent@127.0.0.1:1/shop?geheim=1"], "behind the ? there is an option that PostgreSQL does not know"),
        (["--database-url", "postgresql://agent@127.0.0.1:1/shop?connect_timeout=1&connect_timeout=2"], "connect_timeout is given twice"),
        (["--database-url", "sqlite:///tasks.db", "--http", "x"], "'x' is not a whole number"),
        (["--database-url", "sqlite:///tasks.db", "--http", "65536"], "65536 is no port"),
        ([], "the following arguments are required: --database-url"),
    ],
)
def test_what_cannot_be_served(options: list[str], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line on stderr and 2, nothing on stdout, and no password."""
    monkeypatch.chdir(tmp_path)
    assert 2 == cli.main(["mcp", *options])
    out, err = capsys.readouterr()
    assert ("", 1, True, False) == (out, err.count("\n"), why in err, "geheim" in err), err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line says so, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert 2 == cli.main(["mcp", "--database-url", f"sqlite:///{tmp_path}/t.db", "--http", port])
    assert f"labkit: --http {port}: something else listens there; take another port, or 0 for any that is free\n" == capsys.readouterr().err


class NoSdk:
    """What an interpreter says where the SDK is not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == "mcp":
            raise ModuleNotFoundError("No module named 'mcp'", name="mcp")


def test_without_the_sdk(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says what to install."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp" or name.startswith("labkit.mcp_server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(labkit.mcp_server, "command")
    monkeypatch.setattr(sys, "meta_path", [NoSdk(), *sys.meta_path])
    assert 2 == cli.main(["mcp", "--database-url", "sqlite:///t.db"])
    assert "labkit: mcp is not installed here; in the checkout: python -m pip install '.[all]'\n" == capsys.readouterr().err
