"""Real processes: four on one database, killed again and again; and `labkit worker` under SIGTERM and SIGKILL."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from labkit import cli
from labkit.cloud import Effect, FileLedger
from labkit.errors import UsageError
from labkit.queue import TaskQueue, WorkerPool
from labkit.queue.process import load
from labkit.task import TaskState
from tests.checkout import ROOT
from tests.queue import app
from tests.queue.helpers import SECONDS, taken, until
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
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
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


def test_load() -> None:
    """A function is found by its name in its module, and a dict becomes one handler."""
    assert app.mail is load("tests.queue.app:mail")
    assert callable(load("tests.queue.app:handlers"))
    with pytest.raises(UsageError):
        load("tests.queue.app:pytest.x")
