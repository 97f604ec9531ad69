"""The durable log: what is appended together, how many commits a saga costs, and two writers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert
from sqlalchemy.exc import DBAPIError

from labkit.database import open_engine, write_transaction
from labkit.errors import StaleSaga, StoreBusy, UnstorableValue
from labkit.faults import End, Process, Scenario, interleave, run_once
from labkit.saga import SagaLog, SagaStep, run_saga
from labkit.tables import create_tables, saga_log
from tests.saga.worlds import NAMES, Calls, ListLog, how


def test_append_and_read(engine: Engine) -> None:
    """What was appended is there in order, for this instance and for another, with number, error and an aware time."""
    log = SagaLog(engine, "s1")
    assert [] == log.entries()
    log.append("started", "a")
    log.append_all([("failed", "a", "disk\nfull"), ("compensated", "", "")])
    assert [("started", "a"), ("failed", "a"), ("compensated", "")] == log.entries() == SagaLog(engine, "s1").entries()
    records = log.records()
    assert records == SagaLog(engine, "s1").records()
    assert [(1, ""), (2, "disk\nfull"), (3, "")] == [(record.seq, record.error) for record in records]
    assert all(record.time.tzinfo is not None for record in records)
    assert sorted(record.time for record in records) == [record.time for record in records]


def test_sagas_do_not_see_each_other(engine: Engine) -> None:
    """Each id has a log of its own."""
    SagaLog(engine, "s1").append("started", "a")
    assert [] == SagaLog(engine, "s").entries()


def test_nothing_to_append(engine: Engine) -> None:
    """Nothing is written for nothing."""
    log = SagaLog(engine, "s1")
    log.append_all([])
    assert [] == log.entries()


def test_what_is_returned_is_a_copy(engine: Engine) -> None:
    """Changing it changes nothing in the log."""
    log = SagaLog(engine, "s1")
    log.append("started", "a")
    log.entries().clear()
    log.records().clear()
    assert [("started", "a")] == log.entries()


@pytest.mark.parametrize("bad", ["a\x00", "\ud800", b"a", None, 1])
def test_unstorable(engine: Engine, bad: str) -> None:
    """What one store cannot hold is refused with its path, by every database, and nothing is written."""
    log = SagaLog(engine, "s1")
    for path, entry in {"event": (bad, "a", ""), "step": ("started", bad, ""), "error": ("failed", "a", bad)}.items():
        with pytest.raises(UnstorableValue) as caught:
            log.append_all([("started", "a", ""), entry])
        assert path == caught.value.path
    with pytest.raises(UnstorableValue) as caught:
        SagaLog(engine, bad)
    assert "saga_id" == caught.value.path
    assert [] == SagaLog(engine, "s1").entries()


def test_a_long_id(engine: Engine) -> None:
    """1,000 bytes are an id, one more is not."""
    SagaLog(engine, "ä" * 500).append("completed")
    with pytest.raises(UnstorableValue):
        SagaLog(engine, "ä" * 500 + "x")


def test_a_second_writer_collides(engine: Engine) -> None:
    """Who has not read what another wrote gets StaleSaga and writes nothing, not even half; then it knows."""
    mine, other = SagaLog(engine, "s1"), SagaLog(engine, "s1")
    assert mine.entries() == other.entries()
    other.append("started", "a")
    with pytest.raises(StaleSaga):
        mine.append_all([("started", "b", ""), ("done", "b", "")])
    assert [("started", "a")] == mine.entries() == SagaLog(engine, "s1").entries()
    mine.append("done", "a")
    assert [("started", "a"), ("done", "a")] == SagaLog(engine, "s1").entries()


def test_a_hole_is_no_place(engine: Engine) -> None:
    """A later number that somebody wrote by hand is found too, since an append of two needs both places."""
    with engine.begin() as connection:
        connection.execute(insert(saga_log).values(saga_id="s1", seq=2, event="started"))
    with pytest.raises(StaleSaga):
        SagaLog(engine, "s1").append("started", "a")


@pytest.mark.slow
def test_a_lock_held_for_too_long(tmp_path: Path) -> None:
    """StoreBusy, and the same instance goes on when the lock is gone."""
    engine = open_engine(f"sqlite:///{tmp_path}/busy.db?timeout=0.05")
    create_tables(engine)
    log = SagaLog(engine, "s1")
    with write_transaction(engine), pytest.raises(StoreBusy):
        log.append("started", "a")
    log.append("started", "a")
    assert [("started", "a")] == log.entries()


@contextmanager
def counting(log: SagaLog) -> Iterator[list[int]]:
    """How many entries each commit of this log wrote."""
    commits: list[int] = []
    write = log._write

    def counted(first: int, rows: object) -> object:
        commits.append(len(rows))  # type: ignore[arg-type]
        return write(first, rows)  # type: ignore[arg-type]

    log._write = counted  # type: ignore[method-assign,assignment]
    yield commits


def test_n_steps_cost_n_plus_one_commits(engine: Engine) -> None:
    """The end of a step and the start of the next share one; the way back costs one for each undo and one more."""
    log = SagaLog(engine, "s1")
    with counting(log) as forward:
        run_saga(Calls().steps(), log)
    assert [1, 2, 2, 2, 2] == forward
    calls, log = Calls(saga_id="s2"), SagaLog(engine, "s2")
    calls.fail("d:do", ValueError())
    with counting(log) as back:
        assert ("failed", "d") == how(lambda: run_saga(calls.steps(), log))
    assert [1, 2, 2, 2, 2, 2, 2, 2] == back


def test_the_crossings_of_a_saga_on_postgresql() -> None:
    """A read at the start, then one round trip a commit: seen from outside."""
    trace = run_once(Scenario("saga.four", lambda process: run_saga(Calls().steps(), SagaLog(process.engine, "s1"))), database="postgres")
    labels = [line.label for line in trace.lines if line.boundary == "sql" and line.side == "before"]
    assert 5 == sum("INSERT" in label for label in labels)
    assert len(labels) <= 5 + 3


def test_a_lost_answer_spoils_no_connection() -> None:
    """The rows of a statement were never read: the next append on the same connection still commits."""

    def body(process: Process) -> list[tuple[str, str]]:
        log = SagaLog(process.engine, "s1")
        with pytest.raises(DBAPIError):
            log.append("started", "a")
        log.append("started", "a")
        return SagaLog(process.engine, "s1").entries()

    trace = run_once(Scenario("saga.lost", body), "p1@4.after+timeout")
    assert "INSERT" in next(line.label for line in trace.lines if line.fault)
    assert "started" in trace.lines[-1].text


@pytest.mark.parametrize("fail", [None, "a:do", "d:do", "c:undo"])
def test_both_logs_tell_the_same(engine: Engine, fail: str | None) -> None:
    """A log in memory without `append_all` and the durable one hold the same entries at the end."""
    told = []
    for log in (ListLog(), SagaLog(engine, "s1")):
        calls = Calls()
        if fail is not None:
            calls.fail(fail, *[ValueError()] * 9)
            calls.fail("d:do", ValueError())
        told.append((how(lambda log=log, calls=calls: run_saga(calls.steps(), log)), log.entries()))  # type: ignore[misc]
    assert told[0] == told[1]


def test_a_resumed_failure_says_why(engine: Engine) -> None:
    """The call after it has the text of the error from the log, if not the error."""
    calls = Calls()
    calls.fail("b:do", ValueError("disk full"))
    for _ in range(2):
        with pytest.raises(Exception, match="disk full"):
            run_saga(calls.steps(), SagaLog(engine, "s1"))


def run_deployment(process: Process) -> str:
    """One of two processes that run the same saga at once; it comes again when it was beaten."""
    cloud = process.cloud
    steps = [SagaStep("ns", lambda key: cloud.create_namespace("shop", key), lambda key: cloud.delete_namespace("shop", key))]
    for _ in range(6):
        with suppress(StaleSaga):
            run_saga(steps, SagaLog(process.engine, "s1"))
            return "completed"
    return "beaten"


def test_threads_on_one_saga(engine: Engine) -> None:
    """Of many who run it at once each ends as the saga did, and its log is that of one."""
    calls, ends, barrier = Calls(), list[str](), threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        for _ in range(99):
            with suppress(StaleSaga):
                run_saga(calls.steps(), SagaLog(engine, "s1"))
                ends.append("completed")
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ["completed"] * 4 == ends
    assert [(event, name) for name in NAMES for event in ("started", "done")] + [("completed", "")] == SagaLog(engine, "s1").entries()


def one_log(end: End) -> str | None:
    """The log is that of one run, and the effect is there once."""
    entries = [(row["event"], row["step"]) for row in end.rows["saga_log"]]
    right = [("started", "ns"), ("done", "ns"), ("completed", "")]
    values = [outcome.value for outcome in end.outcomes]
    fine = entries == right and end.count("create_namespace") == 1 and values == ["completed"] * len(values)
    return None if fine else f"{entries}, {values}"


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_every_order_of_two_processes(database: str) -> None:
    """Two processes on one saga, in every order: one effect, one log, and both know the end."""
    interleave(Scenario("saga.two", (run_deployment, run_deployment), [one_log]), database, preemptions=1).or_raise()


def test_one_line(engine: Engine) -> None:
    """One line says which log it is, and what an entry is."""
    log = SagaLog(engine, "s1")
    log.append("started", "a")
    assert repr(log).startswith("<SagaLog s1 ")
    assert "<SagaRecord 1 started a>" == repr(log.records()[0])

