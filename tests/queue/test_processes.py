"""Real processes: four on one database, killed again and again; and `labkit worker` under SIGTERM and SIGKILL."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from labkit import cli
from labkit.cloud import Effect, FileLedger
from labkit.database import open_engine
from labkit.errors import UsageError
from labkit.postgres import fresh_database
from labkit.queue import TaskQueue, Worker, WorkerPool
from labkit.queue.process import load
from labkit.tables import create_tables
from labkit.task import TaskState
from tests.checkout import ROOT
from tests.queue import app
from tests.queue.helpers import SECONDS, refuse_threads, taken, until
from tests.queue.soaking import ENVIRONMENT, OWNERS, difference, soak, url_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("database", "count", "die_at"),
    [("sqlite", 200, 0), ("sqlite", 40, 15), pytest.param("postgres", 200, 40, marks=pytest.mark.postgres)],
)
def test_four_processes(request: pytest.FixtureRequest, tmp_path: Path, database: str, count: int, die_at: int) -> None:
    """4 processes x 200 submit + claim + complete, without and with kills: no error, nothing lost, each effect once."""
    ledger, engine = tmp_path / "ledger.jsonl", request.getfixturevalue(database)
    killed = soak(engine, ledger, count, die_at)
    assert ({}, bool(die_at)) == (difference(engine, ledger, count), killed >= 4)


def test_difference_is_seen(sqlite: Engine, tmp_path: Path) -> None:
    """The twin: what was lost, doubled or never asked for is said."""
    ledger, queue = FileLedger(tmp_path / "ledger.jsonl"), TaskQueue(sqlite)
    for target in ("p0-0", "p0-0", "stranger"):
        ledger.append(Effect("send_mail", target, None, "sent", "", "p0"))
    for owner in OWNERS:
        queue.submit(f"{owner}-0")
    queue.complete(taken(queue), "done")
    found = difference(sqlite, ledger.path, 1)
    assert (["stranger"], ["p0-0"], ["1"]) == (found["nobody's"], found["doubled"], found["terminal events"])
    assert (3, 3) == (len(found["without effect"]), len(found["not completed"]))


@contextmanager
def labkit_worker(engine: Engine, tmp_path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    words = ["worker", "--database-url", url_of(engine), "--app", "tests.queue.app:handlers", *options]
    environment = {**ENVIRONMENT, "LEDGER": str(tmp_path / "ledger.jsonl")}
    command = [sys.executable, "-m", "labkit", *words]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize(("kind", "state"), [("slow", "completed"), ("polite", "pending"), ("deaf", "pending")])
def test_sigterm(engine: Engine, tmp_path: Path, kind: str, state: str) -> None:
    """On SIGTERM a task is finished, or given back by a handler that checks, or by the process when the grace is over."""
    queue = TaskQueue(engine)
    task_id, other = queue.submit(kind, max_attempts=1), queue.submit("mail", available_at=None, delay=3600)
    with labkit_worker(engine, tmp_path, "--grace", "0.5") as process:
        until(lambda: queue.progress.after(task_id))
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=SECONDS)
    assert 0 == process.returncode, out
    assert (state, "pending") == (queue.get(task_id).state, queue.get(other).state)
    assert (None if state == "pending" else "finished") == queue.get(task_id).result
    assert out.splitlines()[-1].startswith("stopped: ")


def test_sigkill(engine: Engine, tmp_path: Path) -> None:
    """After SIGKILL the task of a process is taken by another one when the lease is over."""
    queue = TaskQueue(engine, lease_seconds=1.0)
    task_id = queue.submit("deaf")
    with labkit_worker(engine, tmp_path, "--lease", "1") as process:
        until(lambda: queue.progress.after(task_id))
        process.kill()
        process.wait()
    assert TaskState.RUNNING == queue.get(task_id).state
    found: list[object] = []
    until(lambda: found.append(task) if (task := queue.claim("next")) else found)
    assert 2 == queue.get(task_id).attempt


@pytest.mark.postgres
def test_notify_wakes(postgres: Engine) -> None:
    """Workers that look only every hour are woken by a submit; without the wake-up they would find it later."""
    queue = TaskQueue(postgres)
    with WorkerPool(queue, lambda job: "done", workers=2, poll_seconds=3600.0):
        until(lambda: _listening(postgres))
        assert "done" == queue.wait(queue.submit("x"), SECONDS).result


def _listening(engine: Engine) -> bool:
    with engine.connect() as connection:
        return bool(
            connection.exec_driver_sql(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%' AND datname = current_database()"
            ).scalar()
        )


def test_pool(engine: Engine) -> None:
    """Three threads do forty tasks, each once, and stop; a second stop changes nothing."""
    queue, seen = TaskQueue(engine), list[str]()
    ids = [queue.submit(str(n)) for n in range(40)]
    pool = WorkerPool(queue, lambda job: seen.append(job.key) or "done", workers=3, poll_seconds=0.01)  # type: ignore[func-returns-value]
    with pool:
        assert {"done"} == {queue.wait(i, SECONDS).result for i in ids}
    pool.stop()
    assert (sorted(ids), 40, True) == (sorted(seen), sum(w.done for w in pool.workers), pool.join())
    assert f"<WorkerPool 3 workers, {len(ids)} done>" == repr(pool)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--app", "nothing"], "module:handlers"),
        (["--app", "no_such_module:x"], "no_such_module"),
        (["--app", "tests.queue.app:nothing"], "nothing"),
        (["--app", "tests.queue.app:ENDS"], "a handler is"),
        (["--app", "tests.queue.app:later"], "a handler is"),
        (["--app", "tests.queue.broken_app:handlers"], "RuntimeError: no configuration"),
        (["--app", "tests.queue..app:handlers"], "--app"),
        (["--app", "tests.queue.leaving_app:handlers"], "ends the process while it is imported (SystemExit: 3)"),
        (["--app", "tests.queue.app:no_job"], "a handler is a plain function of a job, or a dict of them by first word, not no_job()"),
        (["--app", "tests.queue.app:two_jobs"], "not two_jobs("),
        (["--app", "tests.queue.app:several"], "not several("),
        (["--app", "tests.queue.app:handlers", "--lease", "nan"], "seconds"),
        (["--app", "tests.queue.app:handlers", "--lease", "0"], "lease"),
        (["--app", "tests.queue.app:handlers", "--workers", "0"], "at least one worker"),
        (["--app", "tests.queue.app:handlers", "--database-url", "sqlite://"], "no file"),
        (["--app", "tests.queue.app:handlers", "--database-url", "mysql://a:secret@b/c"], "mysql"),
        (["--app", "tests.queue.app:handlers", "--database-url", "postgresql://a:secret@127.0.0.1:1/c"], "--database-url"),
        (["--app", "tests.queue.app:handlers", "--database-url", "nonsense"], "--database-url"),
        (["--app", "tests.queue.app:handlers", "--database-url", "sqlite:////no/such/place/x.db"], "--database-url"),
    ],
)
def test_unusable(words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What cannot be used ends with 2 and one line that says what is wrong."""
    assert 2 == cli.main(["worker", "--database-url", f"sqlite:///{tmp_path}/x.db", *words])
    error = capsys.readouterr().err
    assert (1, True, False) == (len(error.splitlines()), said in error, "secret" in error), error
    assert "sqlalche.me" not in error


def test_load() -> None:
    """A function is found by its name in its module, and a dict becomes one handler."""
    assert app.mail is load("tests.queue.app:mail")
    assert callable(load("tests.queue.app:handlers"))
    with pytest.raises(UsageError):
        load("tests.queue.app:pytest.x")


@pytest.mark.parametrize("what", ["worker", "listener"])
def test_a_pool_that_cannot_start(sqlite: Engine, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Where a thread cannot be had those that have one end, and no task is left with them."""
    queue = TaskQueue(sqlite)
    queue.submit("x")
    refuse_threads(monkeypatch, what)
    pool = WorkerPool(queue, lambda job: "done", workers=3)
    with pytest.raises(UsageError, match="cannot have a thread"):
        pool.start()
    assert (True, False) == (pool.join(0), any(worker.busy for worker in pool.workers))


def test_failed_attempts_are_told(engine: Engine, tmp_path: Path) -> None:
    """Each failed attempt is a line, and the last line counts them."""
    queue = TaskQueue(engine)
    task_id = queue.submit("bad", max_attempts=1)
    with labkit_worker(engine, tmp_path) as process:
        until(lambda: TaskState.FAILED == queue.get(task_id).state)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=SECONDS)
    first, *_, last = out.splitlines()
    assert ("working: 1 worker, lease 60 s", "stopped: 0 done, 1 attempt failed, 0 lost to others") == (first, last)
    line = app.bad.__code__.co_firstlineno + 2
    assert f"task {task_id}: attempt 1 failed: ValueError: no way (app.py:{line})" in out.splitlines()


def test_cancelled_tasks_are_told(engine: Engine, tmp_path: Path) -> None:
    """A cancel under a worker is one line and has its own count: nobody failed, and nobody else took the task."""
    queue = TaskQueue(engine)
    task_id = queue.submit("polite")
    with labkit_worker(engine, tmp_path, "--lease", "0.4") as process:
        until(lambda: queue.progress.after(task_id))
        queue.cancel(task_id)
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=SECONDS)
    assert ["working: 1 worker, lease 0.4 s\n", f"task {task_id}: attempt 1 was cancelled under the worker\n"] == said
    assert "stopped: 0 done, 0 attempts failed, 0 lost to others, 1 cancelled under a worker" == out.splitlines()[-1]


def test_foreign_database(engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A database with another table of one of our names is refused in one line, and left as it is."""
    url = f"sqlite:///{tmp_path}/foreign.db" if engine.dialect.name == "sqlite" else None
    with foreign(url) as (place, look):
        before = look()
        assert 2 == cli.main(["worker", "--database-url", place, "--app", "tests.queue.app:handlers"])
        error = capsys.readouterr().err
        assert (1, True) == (len(error.splitlines()), "has another table called tasks, without id, user_input, state ..." in error)
        assert before == look()


@contextmanager
def foreign(url: str | None) -> Iterator[tuple[str, Callable[[], object]]]:
    """A database of somebody else's, on PostgreSQL where no URL is given, and a way to see all that is in it."""
    with fresh_database() if url is None else nullcontext() as made:
        theirs = create_engine(url or open_engine(made.url).url)  # type: ignore[union-attr]
        with theirs.begin() as connection:
            connection.execute(text("CREATE TABLE tasks (x int)"))
        file = Path(theirs.url.database or "") if url else None
        yield theirs.url.render_as_string(hide_password=False), lambda: file.read_bytes() if file else inspect(theirs).get_table_names()
        theirs.dispose()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("none/x.db", "none/x.db: unable to open database file; make the folder"),
        ("folder", "folder: unable to open database file; that is a folder: name a file in it"),
        ("text", "text: file is not a database; name another file"),
    ],
)
def test_files_that_are_no_database(place: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with a file is said with its path and with what to do."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no database, and longer than the first page of one would have to be, or at least its header" * 9)
    assert 2 == cli.main(["worker", "--database-url", f"sqlite:///{tmp_path}/{place}", "--app", "tests.queue.app:handlers"])
    error = capsys.readouterr().err
    assert (1, True) == (len(error.splitlines()), f"--database-url: {tmp_path}/{said}" in error), error


def test_outage_names_the_database(sqlite: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """What a worker says of a database that fails it is one line with the place, the database's words, and no link."""
    queue = TaskQueue(sqlite)
    create_tables(sqlite)
    with sqlite.begin() as connection:
        connection.execute(text("ALTER TABLE tasks RENAME TO elsewhere"))
    Worker(queue, lambda job: "done", "w1").run_until_idle()
    (line,) = [record.getMessage() for record in caplog.records if "could not claim" in record.getMessage()]
    assert f"worker w1 could not claim: no such table: tasks ({sqlite.url.render_as_string()})" == line
