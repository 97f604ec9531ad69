"""A process: what it holds dies with it, and how it ended is plain data."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from labkit.errors import StaleTask, StoreBusy
from labkit.faults import Process, Scenario, Schedule, open_world
from labkit.faults.outcome import Outcome, describe_error, plain
from labkit.faults.runner import Runner
from labkit.faults.world import World
from labkit.task import Task

KINDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world of each kind."""
    with open_world(request.param) as opened:
        yield opened


def outcome(world: World, body: Callable[[Process], Any], place: str = "none") -> Outcome:
    """How one process ends under one fault."""
    runner = Runner(Scenario("one", body), world)
    return runner.once(runner.start, 1, [body], Schedule.parse(place).injections).outcomes[0]


@dataclass(frozen=True)
class Job(Task):
    """A task of a learner's own."""


def test_derived_dataclass_names_what_it_is_derived_from() -> None:
    """A value of a derived dataclass says what it is derived from; one of a plain dataclass says its own name only."""
    assert ("Job", ["Task"]) == (plain(Job("t1", "x"))["type"], plain(Job("t1", "x"))["bases"])
    assert "bases" not in plain(Task("t1", "x"))


def test_returned_and_raised(world: World) -> None:
    """Values and errors come out as plain data."""

    def raises(process: Process) -> None:
        raise StaleTask("too late") from ValueError("because")

    assert Outcome("p1", "returned", {"type": "Task", **plain(vars(Task("t1", "x")))}) == outcome(
        world, lambda p: Task("t1", "x")
    )
    told = outcome(world, raises)
    assert ("raised", "StaleTask", "too late", "ValueError") == (
        told.how, told.error["type"], told.error["message"], told.error["cause"]["type"],
    )  # fmt: skip
    assert "LabkitError" in told.error["bases"]


SWALLOWERS: dict[str, Callable[[Process], Any]] = {}


def swallower(body: Callable[[Process], Any]) -> Callable[[Process], Any]:
    SWALLOWERS[body.__name__] = body
    return body


def write(process: Process, what: str) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES (:id, 'x')"), {"id": what})
    process.files.write(what, b"x")
    process.cloud.charge(what)


@swallower
def finally_clean_up(process: Process) -> None:
    try:
        process.cloud.charge("ann")
    finally:
        write(process, "finally")


@swallower
def except_base_exception(process: Process) -> str:
    try:
        process.cloud.charge("ann")
    except BaseException:
        write(process, "except")
    return "as if nothing had happened"


@swallower
def return_in_finally(process: Process) -> str:
    try:
        process.cloud.charge("ann")
    finally:
        return "fine"  # noqa: B012  (that is the point)


@swallower
def endless_swallowing(process: Process) -> None:
    process.store.get("t1")
    while True:
        try:
            process.cloud.charge("ann", key="k")
            return
        except BaseException:
            continue


@swallower
def another_error_instead(process: Process) -> None:
    try:
        process.cloud.charge("ann")
    except BaseException as error:
        raise ValueError("something else") from error


@swallower
def a_thread_left_behind(process: Process) -> None:
    engine = process.engine  # it keeps what it has

    def later() -> None:
        died.wait(10)
        for _ in range(3):
            with suppress(BaseException):
                write(process, "thread")
            with suppress(BaseException), engine.begin() as connection:
                connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('thread', 'x')"))
        with suppress(BaseException):
            process.cloud.charge("thread")

    died = threading.Event()
    thread = threading.Thread(target=later)
    thread.start()
    try:
        process.cloud.charge("ann")
    finally:
        died.set()
        thread.join(10)
        assert not thread.is_alive()


@swallower
def finalizer(process: Process) -> None:
    class Held:
        def __del__(self) -> None:
            with suppress(BaseException):
                write(process, "finalizer")

    held = Held()
    process.cloud.charge("ann")
    del held


@swallower
def an_open_transaction(process: Process) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('open', 'x')"))
        rows = connection.execute(text("SELECT id FROM tasks"))
        next(iter(rows))
        process.cloud.charge("ann")


@swallower
def in_a_thread_pool(process: Process) -> None:
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(process.cloud.charge, "ann").result()


@swallower
def in_an_event_loop(process: Process) -> None:
    async def charge() -> None:
        await process.clock.asleep(0)
        process.cloud.charge("ann")

    async def together() -> None:
        await asyncio.gather(charge(), asyncio.sleep(3600), return_exceptions=True)
        write(process, "loop")

    asyncio.run(together())


def test_a_thread_left_behind_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its death is not printed as an error of somebody's code."""
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)

    def body(process: Process) -> None:
        with suppress(BaseException):
            process.cloud.charge("ann")
        thread = threading.Thread(target=process.cloud.charge, args=["bob"])
        thread.start()
        thread.join(10)

    with World() as world:
        assert Outcome("p1", "crashed") == outcome(world, body, "p1@1.before+crash")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("body", SWALLOWERS.values(), ids=SWALLOWERS)
@pytest.mark.parametrize("side", ["before", "after"])
def test_the_dead_do_nothing_whatever_their_code_tries(world: World, body: Callable[[Process], Any], side: str) -> None:
    """The process counts as crashed, and the world is as if it had been killed."""
    assert Outcome("p1", "crashed") == outcome(world, body, f"p1@cloud1.{side}+crash")
    gc.collect()
    assert world.rows().get("tasks", []) == []
    assert world.files() == {}
    assert ["ann"] * (side == "after") == [effect.target for effect in world.ledger.entries()]
    # nobody holds a lock: the next process writes at once
    assert outcome(world, lambda process: write(process, "next")).how == "returned"
    assert world.clock.elapsed == 0.0


def test_a_hung_process_is_hung_whatever_it_returns(world: World) -> None:
    """A call that never comes back ends the process, and swallowing that does not help."""
    assert Outcome("p1", "hung") == outcome(world, except_base_exception, "p1@cloud1.before+hang")
    assert world.ledger.entries() in ([], ())


def test_an_endless_process_is_stopped(world: World) -> None:
    """A process that calls out for ever is stopped, also when it swallows everything."""

    def body(process: Process) -> None:
        while True:
            with suppress(BaseException):
                process.clock.sleep(1)

    assert Outcome("p1", "endless") == outcome(world, body)


def test_an_engine_of_a_dead_process_is_nobody_elses(world: World) -> None:
    """What a thread of a dead process does with its engine never runs in the name of the next process."""
    kept: list[Any] = []

    def first(process: Process) -> None:
        kept.append(process.engine)
        process.store.get("t1")

    def second(process: Process) -> None:
        with suppress(BaseException), kept[0].begin() as connection:
            connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('ghost', 'x')"))
        process.store.get("t1")

    outcome(world, first)
    assert outcome(world, second).how == "returned"
    assert world.rows()["tasks"] == []


def test_a_lock_file_dies_with_its_holder() -> None:
    """After a crash inside a save the next process gets the lock at once."""
    with World() as world:
        scenario = Scenario("json", lambda p: p.store.save(Task("t1", "x")), store="json")
        runner = Runner(scenario, world)
        end, _ = runner.run(Schedule.parse("p1@2.before+crash"))
        assert [o.how for o in end.outcomes] == ["crashed", "returned"]
        assert world.clock.elapsed == 0.0


def test_time_starts_anew_for_a_process() -> None:
    """`monotonic` means nothing to another process; `now` does."""
    seen = []

    def body(process: Process) -> None:
        seen.append((process.clock.monotonic(), process.clock.now()))
        process.clock.sleep(10)

    with World() as world:
        runner = Runner(Scenario("clock", body), world)
        runner.run(Schedule.parse("p1@1.after+crash"))
    assert seen[0][0] == seen[1][0]
    assert 10.0 == (seen[1][1] - seen[0][1]).total_seconds()


def test_randomness_is_an_input() -> None:
    """The same in every replay, another for each process."""

    def body(process: Process) -> float:
        value = process.random.random()
        process.clock.sleep(1)
        return value

    with World() as world:
        runner = Runner(Scenario("random", body), world)
        once, again = (runner.run(Schedule.parse("p1@1.after+crash"))[0].last for _ in range(2))
        alone = runner.run(Schedule())[0].last
    assert once == again
    assert once.value != alone.value


def test_a_store_that_is_busy_is_an_answer(tmp_path: Path) -> None:
    """An injected named error reaches the code as itself."""
    with World() as world:
        told = outcome(world, lambda p: p.cloud.charge("ann"), "p1@1.before+error(StoreBusy)")
    assert told.error["type"] == StoreBusy.__name__


@dataclass
class Odd:
    inside: Any


def test_odd_values_and_errors_are_told_all_the_same() -> None:
    """Loops, broken reprs, addresses and deep nesting become data that JSON can hold, the same in each run."""

    class Broken(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

        __repr__ = __str__

    error = Broken()
    error.__cause__ = error
    loop: list[Any] = []
    loop.append(loop)
    for value in (error, loop, Odd(object()), {1: 2}, b"x", Odd(loop), lambda: None, float("inf")):
        assert " at 0x" not in json.dumps(plain(value))
    told = describe_error(error)
    assert "cannot be shown" in told["message"]
    assert " at 0x" not in json.dumps(told)


def test_listeners_of_a_process_die_with_it(world: World) -> None:
    """What a program hangs on its engine is not there in the next process, nor in the next run."""
    heard: list[str] = []

    def body(process: Process) -> None:
        event.listen(process.engine, "begin", lambda connection: heard.append("begin"))
        event.listen(process.engine, "connect", lambda connection, record: heard.append("connect"))
        process.store.get("t1")

    for _ in range(3):
        outcome(world, body)
    outcome(world, lambda process: process.store.get("t1"))
    assert heard == ["connect", "begin"] * 3


def test_what_a_process_leaves_in_a_connection_dies_with_it(world: World) -> None:
    """Settings, temporary tables and functions are not there for the next one."""

    def first(process: Process) -> None:
        with process.engine.connect() as connection:
            connection.execute(text("CREATE TEMP TABLE mine (a INTEGER)"))
            if connection.dialect.name == "sqlite":
                connection.execute(text("PRAGMA foreign_keys = ON"))
                connection.connection.create_function("mine", 0, lambda: 1)
            connection.commit()

    outcome(world, first)
    assert outcome(world, first).how == "returned"  # a second CREATE would fail


def test_how_it_ended_names_no_path_of_the_machine() -> None:
    """A damaged file is named as the process knows it, not by where the world lies on the disk."""

    def body(process: Process) -> None:
        process.files.write("tasks.json", b"{")
        process.store.get("t1")

    with open_world("memory") as world:
        end, _ = Runner(Scenario("damaged", body, store="json"), world).run(Schedule())
    assert "StoreCorrupt" == end.last.error["type"]
    assert end.last.error["message"].startswith("tasks.json is damaged")
    assert str(world.folder) not in json.dumps(end.to_data())
