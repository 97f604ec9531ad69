"""Engines: a real BEGIN, waiting writers, times that compare rightly, and the database's own clock."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import DateTime, Engine, bindparam, event, insert, literal, select, text, update
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.journal import ToolJournal
from labkit.agent.states import AgentStates
from labkit.checkpoint import CheckpointStore
from labkit.database import (
    BUSY_SECONDS,
    busy_is_an_answer,
    db_now,
    in_one_line,
    is_busy,
    open_engine,
    shown,
    utc_text,
    write_transaction,
)
from labkit.errors import StoreBusy
from labkit.progress import ProgressLog
from labkit.queue import TaskQueue, Worker
from labkit.saga.log import SagaLog
from labkit.store import SqlStore
from labkit.tables import create_tables, tasks
from labkit.task import Task
from labkit.webhook.deliver import Deliverer

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
ODD = datetime(2026, 1, 5, 9, 0, 0, 123456, tzinfo=UTC)


def put(engine: Engine, name: str, at: datetime) -> None:
    with engine.begin() as connection:
        connection.execute(insert(tasks).values(id=name, user_input="x", available_at=at))


@pytest.mark.parametrize("url", ["u:s3cret@h/db", "u@h/db?password=s3cret", "h/db?user=u&password=s3cret&sslpassword=s3cret", "h/db?options=s3cret"])
def test_what_shows_an_engine(url: str) -> None:
    """It says where the database is and no password, however the URL holds it; so does whatever shows one in its own line."""
    engine = open_engine(f"postgresql+psycopg://{url}")
    made = [ToolJournal(engine, "t"), AgentStates(engine), ArtifactStore(engine), TaskQueue(engine), ProgressLog(engine), SqlStore(engine)]
    for line in [shown(engine), *map(repr, [*made, CheckpointStore(engine), SagaLog(engine, "s"), Deliverer(engine)])]:
        assert (True, False) == ("h/db" in line, "s3cret" in line), line


def test_an_outage_in_the_log_of_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    """It says where, and no password."""
    worker = Worker(TaskQueue(open_engine("postgresql://u@127.0.0.1:1/db?password=s3cret")), lambda job: "", "w1", every=lambda *_: lambda: None)
    worker.run_until_idle()
    assert (True, False) == ("could not claim" in caplog.text and "127.0.0.1:1/db" in caplog.text, "s3cret" in caplog.text)


@pytest.fixture
def impatient(sqlite: Engine) -> Iterator[Engine]:
    """A second engine on the same file that does not wait for locks."""
    engine = open_engine(sqlite.url, connect_args={"timeout": 0})
    yield engine
    engine.dispose()


def test_pragmas(sqlite: Engine) -> None:
    """A file is in WAL mode, a commit reaches the disk, a lock is waited for."""
    with sqlite.connect() as connection:
        asked = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "busy_timeout")
        ]
    assert ["wal", 2, 5000] == asked


def test_begin_is_real(sqlite: Engine) -> None:
    """`begin()` sends BEGIN before the first statement, `write_transaction` BEGIN IMMEDIATE, and the next one is plain again."""
    sent: list[str] = []

    @event.listens_for(sqlite, "connect")
    def listen(connection: sqlite3.Connection, record: object) -> None:
        connection.set_trace_callback(sent.append)

    sqlite.dispose()
    with sqlite.begin() as connection:
        connection.execute(text("SELECT 1"))
    with write_transaction(sqlite):
        pass
    with sqlite.begin():
        pass
    begun = [line for line in sent if not line.startswith("PRAGMA")]
    assert ["BEGIN ", "SELECT 1", "COMMIT", "BEGIN IMMEDIATE", "COMMIT", "BEGIN ", "COMMIT"] == [
        "BEGIN " if line.strip() == "BEGIN" else line for line in begun
    ]


@pytest.mark.parametrize("where", ["engine", "connection"])
def test_autocommit(engine: Engine, where: str) -> None:
    """With isolation level AUTOCOMMIT each statement is kept by itself; the next user of the connection has transactions again."""
    single = engine.execution_options(isolation_level="AUTOCOMMIT") if where == "engine" else engine
    with single.connect() as connection:
        if where == "connection":
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('kept', '')"))
    with engine.connect() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('rolled back', '')"))
    with write_transaction(engine) as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('committed', '')"))
    with engine.connect() as connection:
        assert list(connection.execute(text("SELECT id FROM tasks ORDER BY id")).scalars()) == ["committed", "kept"]


def test_an_engine_opened_with_autocommit(tmp_path: Path) -> None:
    """The option of `create_engine` means the same, and `write_transaction` holds the write lock all the same."""
    engine = open_engine(f"sqlite:///{tmp_path}/tasks.db", isolation_level="AUTOCOMMIT")
    create_tables(engine)
    with engine.connect() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('kept', '')"))

    def fails() -> None:
        with write_transaction(engine) as connection:
            connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('rolled back', '')"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    with engine.connect() as connection:
        assert list(connection.execute(text("SELECT id FROM tasks")).scalars()) == ["kept"]
    engine.dispose()


def test_substituted_connection_sees_every_statement(tmp_path: Path) -> None:
    """A driver connection put in by `do_connect` sees each statement: BEGIN and PRAGMA by cursor, COMMIT by the connection."""
    seen: list[str] = []

    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *arguments: object) -> sqlite3.Cursor:  # type: ignore[override]
            seen.append(sql.split()[0])
            return super().execute(sql, *arguments)  # type: ignore[arg-type]

    class Connection(sqlite3.Connection):
        def cursor(self, *arguments: object) -> sqlite3.Cursor:  # type: ignore[override]
            return super().cursor(Cursor)

        def commit(self) -> None:
            seen.append("COMMIT")
            super().commit()

    engine = open_engine(f"sqlite:///{tmp_path}/x.db")

    @event.listens_for(engine, "do_connect")
    def connect(dialect: object, record: object, arguments: list[str], options: dict[str, object]) -> object:
        return sqlite3.connect(*arguments, **options, factory=Connection)  # type: ignore[call-overload]

    with engine.begin() as connection:
        connection.execute(text("SELECT 1"))
    assert ["BEGIN", "SELECT", "COMMIT"] == [word for word in seen if word != "PRAGMA"][-3:]
    engine.dispose()


@pytest.mark.parametrize("how", ["begin", "write_transaction"])
def test_rollback(engine: Engine, how: str) -> None:
    """An error, also one that is no Exception, undoes the whole transaction."""

    def interrupted(error: type[BaseException]) -> None:
        with engine.begin() if how == "begin" else write_transaction(engine) as connection:
            connection.execute(insert(tasks).values(id="t1", user_input="x"))
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            interrupted(error)
    with engine.connect() as connection:
        assert [] == connection.execute(select(tasks)).all()


def test_first_write_waits(engine: Engine) -> None:
    """A transaction whose first statement writes waits for the other writer and then sees what it wrote."""
    put(engine, "t1", NINE)
    count = update(tasks).values(priority=tasks.c.priority + 1)
    waiting = threading.Event()

    def second() -> None:
        with engine.begin() as connection:
            waiting.set()
            connection.execute(count)

    with engine.begin() as connection:
        connection.execute(count)
        thread = threading.Thread(target=second)
        thread.start()
        waiting.wait()
    thread.join()
    with engine.connect() as connection:
        assert 2 == connection.execute(select(tasks.c.priority)).scalar()


def test_read_then_write_is_refused(sqlite: Engine, impatient: Engine) -> None:
    """A read followed by a write is refused on SQLite when another wrote between; write_transaction keeps the other out."""
    put(sqlite, "t1", NINE)
    with sqlite.begin() as reader:
        reader.execute(select(tasks)).all()
        put(impatient, "t2", NINE)
        with pytest.raises(OperationalError) as caught:
            reader.execute(update(tasks).values(priority=1))
    assert is_busy(caught.value)
    with write_transaction(sqlite) as reader:
        reader.execute(select(tasks)).all()
        with pytest.raises(OperationalError):
            put(impatient, "t3", NINE)
        reader.execute(update(tasks).values(priority=1))


def test_locked_for_too_long(sqlite: Engine, impatient: Engine) -> None:
    """A database that is locked beyond the limit is StoreBusy, in the store too; it can be asked again, and nothing was written."""
    store = SqlStore(impatient)
    with write_transaction(sqlite):
        with pytest.raises(StoreBusy) as caught:
            store.save(Task("t1", "x"))
        with pytest.raises(StoreBusy), busy_is_an_answer(), write_transaction(impatient):
            pytest.fail("two writers")
    assert caught.value.definite
    assert store.get("t1") is None
    assert 1 == store.save(Task("t1", "x")).version


def test_postgres_lock_timeout(postgres: Engine) -> None:
    """On PostgreSQL a lock that was waited for too long is StoreBusy as well; the limit is the same, until somebody sets another."""
    put(postgres, "t1", NINE)
    hurried = open_engine(postgres.url, connect_args={"options": "-c lock_timeout=1"})
    with postgres.connect() as connection:
        assert f"{BUSY_SECONDS:g}s" == connection.execute(text("SHOW lock_timeout")).scalar()
    with postgres.begin() as holder:
        holder.execute(update(tasks).values(priority=1))
        with pytest.raises(StoreBusy), busy_is_an_answer(), hurried.begin() as connection:
            connection.execute(update(tasks).values(priority=2))
    with hurried.begin() as connection:
        connection.execute(update(tasks).values(priority=2))
    hurried.dispose()


def test_other_errors_are_not_busy(engine: Engine) -> None:
    """Only a lock is StoreBusy."""
    with pytest.raises(Exception, match="no_such_table") as caught, busy_is_an_answer(), engine.begin() as connection:
        connection.execute(text("SELECT * FROM no_such_table"))
    assert not isinstance(caught.value, StoreBusy)
    assert not is_busy(ValueError())


@pytest.mark.parametrize("at", [NINE, ODD])
def test_stored_form(sqlite: Engine, at: datetime) -> None:
    """On SQLite a time is text in UTC, however it was bound, and an untyped bind gives the same text."""
    local = at.astimezone(timezone(timedelta(hours=-7)))
    put(sqlite, "typed", local)
    with sqlite.begin() as connection:
        statement = "INSERT INTO tasks (id, user_input, available_at) VALUES (:id, 'x', :at)"
        connection.execute(text(statement), {"id": "text", "at": local})
        connection.execute(text(statement).bindparams(id="guessed", at=local))
        connection.exec_driver_sql("INSERT INTO tasks (id, user_input, available_at) VALUES ('raw', 'x', ?)", (local,))
        stored = connection.exec_driver_sql("SELECT DISTINCT available_at FROM tasks").all()
    assert [(utc_text(at),)] == stored
    assert utc_text(at) in ("2026-01-05 09:00:00+00:00", "2026-01-05 09:00:00.123456+00:00")


@pytest.mark.parametrize("step", [timedelta(0), timedelta(microseconds=1), timedelta(seconds=1), timedelta(hours=9)])
@pytest.mark.parametrize("at", [NINE, ODD])
def test_times_compare(engine: Engine, at: datetime, step: timedelta) -> None:
    """Due means due: `available_at <= now` holds exactly from that instant on, for every way to bind `now` and in every zone."""
    put(engine, "t1", at)
    for hours in (-7, 0, 5):
        for now, due in ((at + step, True), (at - step, step == timedelta(0))):
            bound = now.astimezone(timezone(timedelta(hours=hours)))
            raw = text("SELECT id FROM tasks WHERE available_at <= :now")
            ways = [
                (select(tasks.c.id).where(tasks.c.available_at <= bound), {}),
                (select(tasks.c.id).where(literal(bound) >= tasks.c.available_at), {}),
                (select(tasks.c.id).where(tasks.c.available_at <= bindparam("now", type_=DateTime())), {"now": bound}),
                (raw, {"now": bound}),
                (raw.bindparams(now=bound), {}),
                (raw.bindparams(bindparam("now", type_=tasks.c.updated_at.type)), {"now": bound}),
            ]
            with engine.connect() as connection:
                for statement, values in ways:
                    assert due == bool(connection.execute(statement, values).all())


def test_times_come_back_in_utc(engine: Engine) -> None:
    """A time is read as the same instant, aware, in UTC."""
    put(engine, "t1", ODD.astimezone(timezone(timedelta(hours=3))))
    with engine.connect() as connection:
        read = connection.execute(select(tasks.c.available_at)).scalar_one()
    assert (ODD, UTC) == (read, read.tzinfo)


def test_naive_time_is_refused(engine: Engine) -> None:
    """A time without a zone means no instant."""
    with pytest.raises(StatementError, match="no time zone"):
        put(engine, "t1", datetime(2026, 1, 5))


def test_db_now(engine: Engine) -> None:
    """The database's time is an instant of now, in the form of the stored times, as value, default and in comparisons."""
    before = datetime.now(UTC) - timedelta(milliseconds=2)
    put(engine, "t1", before)
    with engine.connect() as connection:
        now = connection.execute(select(db_now())).scalar_one()
        due = connection.execute(select(tasks.c.id).where(tasks.c.available_at <= db_now())).all()
        created = connection.execute(select(tasks.c.created_at)).scalar_one()
    assert before <= created <= now <= datetime.now(UTC)
    assert [("t1",)] == due


def test_db_now_moves_in_a_transaction(postgres: Engine) -> None:
    """PostgreSQL's time is that of the statement and not that of the transaction's start."""
    with postgres.begin() as connection:
        one = connection.execute(select(db_now())).scalar_one()
        connection.execute(text("SELECT pg_sleep(0.002)"))
        assert connection.execute(select(db_now())).scalar_one() > one


@pytest.mark.parametrize(("shown", "kept"), [("00.000", "00+00:00"), ("00.120", "00.120000+00:00")])
def test_db_now_can_be_shadowed(sqlite: Engine, shown: str, kept: str) -> None:
    """On SQLite the time comes from `strftime`, which a simulator can shadow; whole seconds have no fraction."""
    with sqlite.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.create_function("strftime", 2, lambda form, when: f"2026-01-05 09:00:{shown}")  # type: ignore[attr-defined]
        connection.exec_driver_sql("INSERT INTO tasks (id, user_input) VALUES ('t1', 'x')")
        stored = connection.exec_driver_sql("SELECT created_at, available_at, updated_at FROM tasks").one()
    assert (f"2026-01-05 09:00:{kept}",) * 3 == tuple(stored)


def test_memory_databases() -> None:
    """A named memory database is shared by the connections of its engine; a plain one works too; neither warns."""
    with pytest.MonkeyPatch.context():
        for url in ("sqlite://", "sqlite:///file:labkit-test?mode=memory&cache=shared&uri=true"):
            engine = open_engine(url)
            with engine.connect() as keeper:
                create_tables(engine)
                put(engine, "t1", NINE)
                keeper.rollback()
                assert 1 == len(keeper.execute(select(tasks)).all())
            engine.dispose()


def test_postgres_url_and_options(postgres_url: str) -> None:
    """A plain postgresql:// URL gets the driver we use; sessions are in UTC, and options of the caller stay."""
    plain = postgres_url.replace("postgresql+psycopg", "postgresql")
    engine = open_engine(plain, connect_args={"options": "-c statement_timeout=5s"})
    with engine.connect() as connection:
        shown = [connection.execute(text(f"SHOW {name}")).scalar() for name in ("timezone", "statement_timeout")]
    assert ("psycopg", ["UTC", "5s"]) == (engine.driver, shown)
    engine.dispose()


@pytest.mark.slow
def test_processes_open_a_new_file_together(tmp_path: Path) -> None:
    """Several processes that start on one new file, create the tables and write, all succeed."""
    program = f"""
import sys
from labkit.database import open_engine
from labkit.store import SqlStore
from labkit.tables import create_tables
from labkit.task import Task
sys.stdin.read()
engine = open_engine({f"sqlite:///{tmp_path}/new.db"!r})
create_tables(engine)
for number in range(20):
    SqlStore(engine).save(Task(f"{{sys.argv[1]}}-{{number}}", "x"))
"""
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(number)], stdin=subprocess.PIPE) for number in range(4)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.close()
    assert [0, 0, 0, 0] == [child.wait(60) for child in children]
    engine = open_engine(f"sqlite:///{tmp_path}/new.db")
    assert 80 == len(SqlStore(engine).list_by_state("pending"))  # type: ignore[arg-type]
    engine.dispose()


def test_errors_in_one_line(sqlite: Engine) -> None:
    """A database's own words: no statement, no link, one line; of any other error its first line."""
    with pytest.raises(OperationalError) as caught, sqlite.connect() as connection:
        connection.execute(text("SELECT 1 FROM nowhere"))
    assert "sqlalche.me" in str(caught.value)
    assert "no such table: nowhere" == in_one_line(caught.value)
    waited = NoFreeConnection("the pool is empty", code="3o7r")
    assert "sqlalche.me" in str(waited)
    assert ["the pool is empty", "one", "ValueError"] == [in_one_line(error) for error in (waited, ValueError("one\ntwo"), ValueError())]


def test_what_is_bound_stays_out_of_errors(engine: Engine) -> None:
    """An error of the database names the statement and none of the values: prompts, results and keys are such values."""
    with pytest.raises(DBAPIError) as refused, engine.begin() as connection:
        connection.execute(text("INSERT INTO no_such_table VALUES (:secret)"), {"secret": "s3cret"})
    assert "no_such_table" in str(refused.value)
    assert "s3cret" not in str(refused.value)
