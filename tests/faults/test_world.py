"""The world: it can be photographed, put back, and asked in which state it is."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from labkit.errors import UsageError
from labkit.faults import Process, Scenario, Schedule, open_world
from labkit.faults.folder import new_folder
from labkit.faults.gate import Alone, Gate
from labkit.faults.runner import Runner
from labkit.faults.world import World
from labkit.task import Task

KINDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world of each kind."""
    with open_world(request.param) as opened:
        assert opened.database.kind == request.param
        yield opened


def process(world: World) -> Process:
    return Process(world, Gate("p1", (), [], world.clock, Alone(world.clock), later=world.send_late))


def test_only_what_serves_as_a_lock_is_no_part_of_the_state() -> None:
    """A program's own file of any name is photographed and put back; the file of a lock is left out, unless there is something in it."""

    def body(process: Process) -> list[bool]:
        before = [process.files.exists(name) for name in ("uv.lock", "there/empty.lock")]
        with process.files.lock(Path("guard.lock"), process.clock, 1.0):
            process.files.write("uv.lock", b"pinned")
            (process.world.files_folder / "there").mkdir(exist_ok=True)
            process.files.write("there/empty.lock", b"")
        return before

    with open_world("memory") as world:
        runner = Runner(Scenario("locks", body), world)
        empty = world.key()
        for _ in range(2):
            end, _ = runner.run(Schedule())
            assert end.last.value == [False, False]
            assert end.files == {"uv.lock": "pinned", "there/empty.lock": ""}
        assert world.key() != empty
        (world.files_folder / "guard.lock").write_bytes(b"pid 7")
        assert "guard.lock" in world.files()


def run(world: World, *statements: str) -> None:
    one = process(world)
    with one.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    one.end()


def test_a_photograph_brings_everything_back(world: World) -> None:
    """Tables, files, ledger, clock and what is still on its way are as they were."""
    one = process(world)
    one.store.save(Task("t1", "shop; --' \\ \u00e9"))
    one.files.write("a.json", b"one")
    one.cloud.charge("ann", key="k1")
    one.clock.sleep(60)
    world.send_late(30, lambda: None, "charge")
    before, key, rows = world.photograph(), world.key(exact=True), world.rows()

    one.store.save(Task("t2", "blog"))
    one.files.write("a.json", b"two")
    one.files.write("c.json", b"three")
    one.cloud.charge("bob")
    one.clock.sleep(600)
    one.end()
    assert key != world.key(exact=True)

    world.put_back(before)
    assert key == world.key(exact=True)
    assert rows == world.rows()
    assert {"a.json": b"one"} == world.files()
    assert ["k1"] == [effect.key for effect in world.ledger.entries()]
    assert (60.0, 1) == (world.clock.elapsed, len(world.late))


def test_a_photograph_knows_tables_that_labkit_does_not(world: World) -> None:
    """Odd columns, quoted names, tables without a key and references come back; tables made later go."""
    run(
        world,
        'CREATE TABLE "Odd Name" (a INTEGER, "b c" TEXT, d REAL)',
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        "CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents (id))",
        "INSERT INTO \"Odd Name\" VALUES (2, 'x;y', 0.5), (1, NULL, NULL), (2, 'x;y', 0.5)",
        "INSERT INTO parents VALUES (7)",
        "INSERT INTO children VALUES (1, 7)",
    )
    rows, before = world.rows(), world.photograph()
    run(
        world, 'DELETE FROM "Odd Name"', "DELETE FROM children", "DELETE FROM parents", "CREATE TABLE later (a INTEGER)"
    )
    for _ in range(2):
        world.put_back(before)
        assert rows == world.rows()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_each_photograph_brings_its_own_tables_back(kind: str) -> None:
    """Whichever tables there are now: those of the photograph are there again, with their rows and with the numbers that SQLite keeps."""
    with open_world(kind) as world:
        _ = world.database  # opens it
        taken = [(world.rows(), 0, 1, world.photograph())]
        for version in (1, 2):
            run(world, f"CREATE TABLE made{version} (a INTEGER PRIMARY KEY AUTOINCREMENT)", f"PRAGMA user_version = {version}")
            run(world, "INSERT INTO made1 DEFAULT VALUES", "INSERT INTO made1 DEFAULT VALUES", f"DELETE FROM made1 WHERE a = {2 * version}")
            taken.append((world.rows(), version, 2 * version + 1, world.photograph()))
        for rows, version, following, photograph in [taken[index] for index in (0, 2, 1, 2, 2, 0, 1, 1)]:
            world.put_back(photograph)
            one = process(world)
            with one.engine.connect() as connection:
                found = connection.execute(text("PRAGMA user_version")).scalar()
            one.end()
            assert (rows, version) == (world.rows(), found)
            if version:
                run(world, "INSERT INTO made1 DEFAULT VALUES")
                assert following == world.rows()["made1"][-1]["a"]


@pytest.mark.postgres
def test_a_table_that_was_altered_is_read_as_it_is_now() -> None:
    """What was prepared for its old columns is prepared again; the same when a table is gone."""
    with open_world("postgres") as world:
        run(world, "CREATE TABLE made (a int)", "INSERT INTO made VALUES (1)")
        assert [{"a": 1}] == world.rows()["made"]
        run(world, "ALTER TABLE made ADD COLUMN b int DEFAULT 5")
        assert [{"a": 1, "b": 5}] == world.rows()["made"]
        before = world.photograph()
        run(world, "DELETE FROM made")
        world.put_back(before)
        assert [{"a": 1, "b": 5}] == world.rows()["made"]
        run(world, "DROP TABLE made")
        assert "made" not in world.rows()


def test_the_old_photograph_is_good_after_many_runs(world: World) -> None:
    """Putting back leaves the photograph as it was."""
    empty = world.photograph()
    for number in range(3):
        run(world, f"INSERT INTO tasks (id, user_input) VALUES ('t{number}', 'x')")
        world.put_back(empty)
        assert world.rows()["tasks"] == []


def test_triggers_do_not_fire_when_a_world_is_put_back() -> None:
    """What acts on a row acts when a process writes it, not when the world is put back."""
    with open_world("memory") as world:
        one = process(world)
        with one.engine.begin() as connection:
            connection.execute(text("CREATE TABLE log (what TEXT)"))
            connection.exec_driver_sql(
                "CREATE TRIGGER told AFTER INSERT ON tasks BEGIN INSERT INTO log VALUES (new.id); END"
            )
        one.store.save(Task("t1", "x"))
        one.end()
        before = world.photograph()
        world.put_back(before)
        assert [{"what": "t1"}] == world.rows()["log"]


@pytest.mark.postgres
def test_numbers_that_postgresql_gives_out_start_again() -> None:
    """A sequence is no part of a transaction, but it is part of a photograph; in the key its gaps mean nothing."""
    with open_world("postgres") as world:
        run(world, "CREATE TABLE log (id bigserial PRIMARY KEY, what jsonb)")
        before = world.photograph()
        keys = set()
        for lost in (0, 2):
            run(world, *["SELECT nextval('log_id_seq')"] * lost, "INSERT INTO log (what) VALUES ('{\"a\": [1]}')")
            assert [(lost + 1, {"a": [1]})] == [(row["id"], row["what"]) for row in world.rows()["log"]]
            keys.add(world.key())
            world.put_back(before)
        assert len(keys) == 1


@pytest.mark.postgres
def test_a_used_postgresql_database_is_emptied() -> None:
    """Whoever used a database before left nothing."""
    with open_world("postgres") as world:
        run(world, "CREATE TABLE left_over (a int)", "INSERT INTO tasks (id, user_input) VALUES ('t1', 'x')")
        with World("postgres", url=world.database.url) as second:
            assert {"tasks": []} == {
                name: rows for name, rows in second.database.rows().items() if name in ("tasks", "left_over")
            }


def test_random_ids_mean_the_same(world: World) -> None:
    """Two states that differ only in their random ids have one key; two that use them differently have two."""
    empty, keys = world.photograph(), []
    for same in (True, True, False):
        one, first, second = process(world), str(uuid.uuid4()), str(uuid.uuid4())
        one.store.save(Task(first, "x", idempotency_key=first if same else second))
        one.cloud.charge("ann", key=first)
        keys.append(world.key())
        one.end()
        world.put_back(empty)
    assert keys[0] == keys[1] != keys[2]


def test_the_same_state_a_minute_later_is_the_same_state(world: World) -> None:
    """Times are relative to now, in the key."""
    empty, keys = world.photograph(), []
    for wait, lease in ((0, 60), (60, 60), (60, 61)):
        one = process(world)
        one.clock.sleep(wait)
        saved = one.store.save(Task("t1", "x"))
        until = one.clock.now().timestamp() + lease
        one.store.save(
            type(saved)(
                **{
                    **vars(saved),
                    "state": "running",
                    "lease_expires_at": one.clock.now().fromtimestamp(until, one.clock.now().tzinfo),
                }
            )
        )
        keys.append(world.key())
        one.end()
        world.put_back(empty)
    assert keys[0] == keys[1] != keys[2]


def test_what_a_log_says_again_means_nothing() -> None:
    """Who begins again what a dead process began writes that it began; the state is the same. With `exact` it is another one."""
    with World() as world:
        world.database.put_back(world.database.photograph())
        keys, exact = [], []
        for events in (["started"], ["started", "started"], ["started", "done"], ["started", "done", "started"]):
            written = [
                f"INSERT INTO saga_log (saga_id, seq, event, step) VALUES ('s1', {seq}, '{event}', 'dns')" for seq, event in enumerate(events, 1)
            ]
            run(world, "DELETE FROM saga_log", *written)
            keys.append(world.key())
            exact.append(world.key(exact=True))
        assert keys[0] == keys[1]
        assert (3, 4) == (len(set(keys)), len(set(exact)))


def test_how_often_something_was_written_means_nothing() -> None:
    """`version` and `updated_at` count and date writes; with `exact` they do count."""
    with World() as world:
        keys, exact = set(), set()
        world.database.put_back(world.database.photograph())
        for version in (1, 5):
            run(
                world, "DELETE FROM tasks", f"INSERT INTO tasks (id, user_input, version) VALUES ('t1', 'x', {version})"
            )
            keys.add(world.key())
            exact.add(world.key(exact=True))
        assert (1, 2) == (len(keys), len(exact))


def test_what_is_on_its_way_is_part_of_the_state() -> None:
    """Another request, or another time of arrival, is another state."""
    with World() as world:
        keys = [world.key()]
        for seconds, label in ((30, "charge ann"), (30, "charge bob"), (60, "charge ann")):
            world.late = []
            world.send_late(seconds, lambda: None, label)
            keys.append(world.key())
        assert len(set(keys)) == 4


def test_late_requests_arrive_in_the_order_of_their_times() -> None:
    """Each when the clock gets there, and what the far side refuses disturbs nobody."""
    with World() as world:
        arrived: list[str] = []
        world.send_late(30, lambda: arrived.append("late"))
        world.send_late(10, lambda: arrived.append(f"early at {world.clock.elapsed:g}"))
        world.send_late(20, lambda: [][1])
        world.clock.sleep(9)
        assert arrived == []
        world.clock.sleep(15)
        assert arrived == ["early at 24"]
        world.deliver()
        assert arrived == ["early at 24", "late"]


def test_text_that_only_looks_like_a_time_is_left_alone() -> None:
    """A key can be made of any text."""
    with World() as world:
        process(world).files.write("a", b"2026-99-99 99:99:99 and 2026-01-09 17:00:00+00:00")
        assert len(world.key()) == 16


def test_the_databases_clock_is_the_worlds(world: World) -> None:
    """A server default has the virtual time, also in a transaction that began before the clock moved."""
    one = process(world)
    with one.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('a', 'x')"))
        one.clock.sleep(90)
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('b', 'x')"))
    one.end()
    first, second = (str(row["created_at"])[:19] for row in world.rows()["tasks"])
    assert ("2026-01-09 17:00:00", "2026-01-09 17:01:30") == (first, second)


def test_a_world_of_an_unknown_kind_is_refused() -> None:
    """The kinds are named."""
    with pytest.raises(UsageError, match="known: memory, sqlite, postgres"):
        World("oracle")


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_opened_after_the_photograph_is_put_back_to_empty(kind: str) -> None:
    """When nobody had opened it, it was empty, and so it is again."""
    with open_world(kind) as world:
        before = world.photograph()
        one = process(world)
        one.store.save(Task("t1", "shop"))
        one.end()
        assert world.rows()["tasks"]
        world.put_back(before)
        assert not world.rows()["tasks"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no simple way to ask whether a process lives")
def test_what_a_killed_job_left_is_removed(tmp_path: Path) -> None:
    """A folder of a dead process goes when the next one is made; one of a living process stays."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    orphan, living = tmp_path / f"labkit-world-{dead.pid}-a", tmp_path / f"labkit-world-{os.getppid()}-b"
    other = tmp_path / "labkit-world-of-somebody"
    for folder in (orphan, living, other):
        folder.mkdir()
    made = new_folder(tmp_path)
    assert {living, other, made} == set(tmp_path.iterdir())
