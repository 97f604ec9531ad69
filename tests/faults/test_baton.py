"""The stage: exactly one actor moves, sleepers wake when nobody else can move, and nothing ever hangs."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError

from labkit.database import is_busy, write_transaction
from labkit.faults import End, Process, Scenario, Schedule, every_process_ends, open_world
from labkit.faults.baton import Actor, Baton
from labkit.faults.runner import Runner
from labkit.faults.world import World

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
Body = Callable[[Process], Any]


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world in which actors can meet."""
    with open_world(request.param) as opened:
        yield opened


def two_rows(process: Process) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('a', '0'), ('b', '0')"))


def end(world: World, bodies: tuple[Body, ...], order: str = "") -> End:
    runner = Runner(Scenario("actors", bodies, setup=two_rows), world)
    return runner.run(Schedule.parse("none" + (f";order={order}" if order else "")))[0]


def update(row: str) -> str:
    return f"UPDATE tasks SET user_input = user_input || '+' WHERE id = '{row}'"


def test_three_sleepers_sleep_at_the_same_time(world: World) -> None:
    """Ten minutes each take ten minutes in all, and no real ones; who wakes first is who slept least."""
    woke: list[tuple[float, str]] = []

    def sleeper(seconds: float, times: int) -> Body:
        def body(process: Process) -> None:
            for _ in range(times):
                process.clock.sleep(seconds)
                woke.append((process.clock.monotonic() - 1.0, process.name))

        return body

    over = end(world, (sleeper(300, 2), sleeper(100, 6), sleeper(600, 1)))
    assert over.seconds == 600.0
    assert sorted(woke, key=lambda at: at[0]) == woke
    assert [at for at, name in woke if name == "p2"] == [100.0, 200.0, 300.0, 400.0, 500.0, 600.0]


def test_an_order_is_followed_to_the_call(world: World) -> None:
    """`1x2.2x3` lets the first actor move twice, then the second three times."""

    def body(process: Process) -> None:
        for _ in range(3):
            process.cloud.charge(process.name)

    assert ["p1", "p2", "p2", "p1", "p1", "p2"] == [
        call.process for call in end(world, (body, body), "1x2.2x3.1x3").calls
    ]


def test_a_writer_waits_for_a_writer(world: World) -> None:
    """The second blocks until the first has committed, and both get through."""

    def body(process: Process) -> None:
        with write_transaction(process.engine) as connection:
            connection.execute(text(update("a")))
            process.clock.sleep(1)

    over = end(world, (body, body), "1x3.2x9")
    assert ["returned", "returned"] == [o.how for o in over.outcomes]
    assert over.tasks["a"]["user_input"] == "0++"
    assert over.deadlock == ""


def test_on_sqlite_a_reader_that_wants_to_write_is_refused_at_once() -> None:
    """Where SQLite itself would not wait, nobody waits."""

    def body(process: Process) -> str:
        with process.engine.begin() as connection:
            connection.execute(text("SELECT * FROM tasks")).all()
            try:
                connection.execute(text(update("a")))
            except OperationalError as error:
                return "refused" if is_busy(error) else "?"
        return "wrote"

    with open_world("sqlite") as world:
        over = end(world, (body, body), "1x4.2x9")
    assert ["wrote", "refused"] == [o.value for o in over.outcomes]
    assert over.seconds == 0.0


def test_on_sqlite_a_waiter_gives_up_after_the_busy_time() -> None:
    """Five virtual seconds, then the driver's own error."""

    def holder(process: Process) -> None:
        with write_transaction(process.engine):
            process.clock.sleep(60)

    def waiter(process: Process) -> float:
        with suppress(OperationalError), write_transaction(process.engine):
            return -1.0
        return process.clock.monotonic() - 1.0

    with open_world("sqlite") as world:
        over = end(world, (holder, waiter), "1x2.2x9")
    assert over.outcomes[1].value == 5.0
    assert over.seconds == 60.0


def crosswise(process: Process) -> str:
    first, second = ("a", "b") if process.name == "p1" else ("b", "a")
    try:
        with process.engine.begin() as connection:
            connection.execute(text(update(first)))
            connection.execute(text(update(second)))
    except DBAPIError as error:
        return f"{type(error.orig).__name__}, busy: {is_busy(error)}"
    return "both"


@pytest.mark.postgres
def test_a_deadlock_on_postgresql_is_told_with_both_names() -> None:
    """It is found without waiting for the server, one is refused as the server would refuse it, the other gets through."""
    with open_world("postgres") as world:
        runner = Runner(Scenario("crosswise", (crosswise, crosswise), setup=two_rows), world)
        for _ in range(3):
            over, _ = runner.run(Schedule.parse("none;order=1x2.2x2.1x9"))
            assert over.deadlock == "p1 and p2 wait for each other"
            assert sorted(o.value for o in over.outcomes) == ["DeadlockDetected, busy: True", "both"]
            assert "p1 and p2" in str(every_process_ends(over))


def locks(*rows: str) -> Body:
    """Locks the rows one after the other, in one transaction."""

    def body(process: Process) -> str:
        try:
            with process.engine.begin() as connection:
                for row in rows:
                    connection.execute(text(update(row)))
        except DBAPIError as error:
            return type(error.orig).__name__
        return "through"

    return body


@pytest.mark.postgres
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_who_closes_a_circle_is_refused_and_no_bystander(place: int, early: bool) -> None:
    """A third who only waits for a row of one of the two gets its turn, wherever it stands and whenever it came."""
    bodies = [locks("a", "b"), locks("b", "a")]
    bodies.insert(place, locks("a"))
    one, two = [n + 1 for n in range(3) if n != place]
    third = f"{place + 1}x9"
    order = [f"{one}x2", f"{two}x2", *[third] * early, f"{one}x1", f"{two}x1", *[third] * (not early)]
    with open_world("postgres") as world:
        runner = Runner(Scenario("bystander", tuple(bodies), setup=two_rows), world)
        over, _ = runner.run(Schedule.parse(f"none;order={'.'.join(order)}"))
    assert [outcome.value for outcome in over.outcomes] == ["DeadlockDetected" if n + 1 == two else "through" for n in range(3)]
    # PostgreSQL queues for a row: who waits behind the third waits for the third
    in_line = {one, two} | ({place + 1} if early else set())
    assert over.deadlock == f"{' and '.join(f'p{n}' for n in sorted(in_line))} wait for each other"


@pytest.mark.postgres
@pytest.mark.parametrize("others", [0, 1])
def test_who_waits_for_what_it_holds_itself_is_told(others: int) -> None:
    """Two connections of one process: the server sees no deadlock and would wait for ever."""

    def alone(process: Process) -> None:
        with process.engine.begin() as one, process.engine.begin() as two:
            for connection in (one, two):
                connection.execute(text(update("a")))

    with open_world("postgres") as world:
        bodies = (alone, *[lambda process: None] * others)
        over, _ = Runner(Scenario("alone", bodies, setup=two_rows), world).run(Schedule())
    assert over.deadlock == "p1 waits for what it holds itself"
    assert over.outcomes[0].error["type"] == "OperationalError"


@pytest.mark.postgres
def test_a_process_that_dies_lets_the_waiter_go() -> None:
    """The lock of a dead process is gone, so whoever waited for it goes on."""
    with open_world("postgres") as world:

        def holder(process: Process) -> None:
            with process.engine.begin() as connection:
                connection.execute(text(update("a")))
                process.clock.sleep(1)

        runner = Runner(Scenario("dies", (holder, holder), setup=two_rows, recover=lambda process: None), world)
        over, _ = runner.run(Schedule.parse("p1@clock1.before+crash;order=1x2.2x2.1x9"))
    assert ["crashed", "returned", "returned"] == [o.how for o in over.outcomes]
    assert over.tasks["a"]["user_input"] == "0+"


@pytest.mark.postgres
def test_an_advisory_lock_dies_with_its_process() -> None:
    """Nothing of a dead session stays on the parked connection."""
    lock = "SELECT pg_try_advisory_lock(1)"

    def body(process: Process) -> Any:
        with process.engine.connect() as connection:
            got = connection.execute(text(lock)).scalar()
            connection.execute(text("SET statement_timeout = 17"))
            connection.execute(text("CREATE TEMP TABLE mine (a int)"))
            connection.commit()
            process.clock.sleep(1)
        return got

    with open_world("postgres") as world:
        runner = Runner(Scenario("advisory", body), world)
        over, _ = runner.run(Schedule.parse("p1@clock1.before+crash,p2@clock1.before+crash"))
    assert ["crashed", "crashed", "returned"] == [o.how for o in over.outcomes]
    assert over.last.value is True


def test_code_that_never_comes_back_does_not_hold_the_others_up(world: World) -> None:
    """A stubborn actor is left behind, and the other one ends."""

    def stubborn(process: Process) -> None:
        while True:
            with suppress(BaseException):
                process.cloud.charge("ann", key="k")

    runner = Runner(Scenario("stubborn", (stubborn, crosswise), setup=two_rows, recover=lambda process: None), world)
    over, _ = runner.run(Schedule.parse("p1@2.before+crash"))
    assert ["crashed", "returned", "returned"] == [o.how for o in over.outcomes]


def test_an_error_of_our_own_is_not_swallowed() -> None:
    """A bug of the simulator comes out as it is; it is not an outcome of somebody's process."""

    def broken(actor: Actor) -> None:
        raise ZeroDivisionError

    with World() as world:
        stage = Baton(world.clock)
        stage.add(broken)
        with pytest.raises(ZeroDivisionError):
            stage.run()


def test_each_actor_has_its_own_event_loop(world: World) -> None:
    """Actors that run event loops take turns like all others, though one thread can run only one loop at a time."""

    def body(process: Process) -> None:
        async def twice() -> None:
            for _ in range(2):
                process.cloud.charge(process.name)
                await process.clock.asleep(1)

        asyncio.run(twice())

    over = end(world, (body, body), "1x2.2x2.1x2")
    assert ["returned", "returned"] == [o.how for o in over.outcomes]
    assert ["p1", "p2", "p1", "p2"] == [call.process for call in over.calls if call.boundary == "cloud"]


def charge_twice(process: Process) -> None:
    for _ in range(2):
        process.cloud.charge(process.name)


def charge_twice_in_a_thread(process: Process) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(charge_twice, process).result(10)


@pytest.mark.parametrize("order", ["1x1.2x1.1x1.2x1.1x9", "1x2.2x9", "2x1.1x2.2x9"])
def test_a_thread_of_an_actor_is_interrupted_as_its_own_code_is(world: World, order: str) -> None:
    """Code that works in threads of its own is put to the same orders as code that does not."""
    plain = end(world, (charge_twice, charge_twice), order)
    with open_world(world.kind) as another:
        threaded = end(another, (charge_twice_in_a_thread, charge_twice_in_a_thread), order)
    assert ["returned", "returned"] == [o.how for o in threaded.outcomes]
    assert [call.process for call in plain.calls] == [call.process for call in threaded.calls]


def test_a_thread_waits_for_a_lock_as_its_own_code_does(world: World) -> None:
    """Whoever writes in a thread waits for who holds the row, and gets through."""

    def write(process: Process) -> None:
        with write_transaction(process.engine) as connection:
            connection.execute(text(update("a")))
            process.cloud.charge(process.name)

    def body(process: Process) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write, process).result(10)

    over = end(world, (write, body), "1x4.2x9")
    assert ["returned", "returned"] == [o.how for o in over.outcomes]
    assert "0++" == over.tasks["a"]["user_input"]


def test_a_thread_that_its_own_process_locks_out_is_told_so(world: World) -> None:
    """A process alone waits for itself: refused after the busy time on SQLite, a deadlock on PostgreSQL; also one that was restarted."""

    def write(process: Process) -> None:
        with process.engine.begin() as connection:
            connection.execute(text(update("a")))

    def body(process: Process) -> str:
        with process.engine.begin() as connection, ThreadPoolExecutor(1) as pool:
            connection.execute(text(update("a")))
            try:
                pool.submit(write, process).result(10)
            except DBAPIError as error:
                return "refused" if is_busy(error) else "?"
        return "wrote"

    runner = Runner(
        Scenario("itself", lambda process: process.cloud.charge("ann"), setup=two_rows, recover=body), world
    )
    restarted = runner.run(Schedule.parse("p1@1.before+crash"))[0]
    alone = Runner(Scenario("itself", body), world).run(Schedule())[0]
    assert ["refused", "refused"] == [over.last.value for over in (restarted, alone)]
    assert ("waits for what it holds itself" in alone.deadlock) == (world.kind == "postgres")
    assert ([5.0, 10.0] if world.kind == "sqlite" else [0.0, 0.0]) == [restarted.seconds, alone.seconds]


@pytest.fixture
def as_python_starts() -> Iterator[None]:
    """Ctrl-C does what it does in a program and in a notebook; whoever runs the tests may have said otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_python_starts")
def test_ctrl_c_ends_the_run_whatever_the_code_swallows() -> None:
    """It is not an error of the actor's: it comes out of the run, and the next run is a run like any other."""

    def swallows(process: Process) -> str:
        for _ in range(3):
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return "went on"

    with World() as world:
        runner = Runner(Scenario("interrupted", swallows), world)
        with pytest.raises(KeyboardInterrupt):
            runner.run(Schedule())
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        calm = Runner(Scenario("calm", lambda process: "done"), world)
        assert "done" == calm.run(Schedule())[0].last.value


@pytest.mark.usefixtures("as_python_starts")
def test_an_interrupted_run_leaves_nothing_held(world: World) -> None:
    """Who had not ended when the run was interrupted does nothing more, and what it held is free: the next run is a run like any other."""
    done: list[str] = []

    def writes(process: Process) -> None:
        try:
            with write_transaction(process.engine) as connection:
                connection.execute(text(update("a")))
                process.cloud.charge("ann")
        finally:
            done.append(process.name)

    bodies = (writes, lambda process: signal.raise_signal(signal.SIGINT))
    runner = Runner(Scenario("interrupted", bodies, setup=two_rows), world)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            runner.run(Schedule.parse("none;order=1x3.2x1"))
        gc.collect()
    assert [] == done
    calm = Runner(Scenario("calm", writes), world)
    assert "returned" == calm.run(Schedule())[0].last.how
    assert ["p1"] == done


def test_whoever_runs_the_stage_keeps_its_event_loop(world: World) -> None:
    """A notebook's kernel is inside its event loop when a cell runs actors, and still is afterwards."""

    async def cell() -> None:
        before = asyncio.get_running_loop()
        end(world, (crosswise, crosswise), "1x1.2x1.1x9")
        assert before is asyncio.get_running_loop()

    asyncio.run(cell())
