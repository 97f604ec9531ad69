"""Real processes: four on one database, killed again and again; and `labkit worker` under SIGTERM and SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from labkit.clock import SystemClock
from labkit.cloud import FileLedger
from labkit.errors import UsageError
from labkit.progress.log import progress_log
from labkit.queue import TaskQueue, WorkerPool
from labkit.queue.process import load, main
from labkit.tables import tasks
from labkit.task import TaskState
from tests.checkout import ROOT
from tests.queue import app

pytestmark = pytest.mark.slow
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SECONDS = 60.0  # after which a test gives up


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def until(true: Callable[[], object]) -> None:
    """Wait for another process, a while at most."""
    clock = SystemClock()
    give_up = clock.monotonic() + SECONDS
    while not true():
        assert clock.monotonic() < give_up, "it takes too long"
        clock.sleep(0.02)


def soak(engine: Engine, ledger: Path, count: int, die_at: int) -> int:
    """Four processes, each started again when it was killed, until all have ended; how many were killed."""

    def start(owner: str, dies: int) -> subprocess.Popen[bytes]:
        words = [owner, url_of(engine), str(ledger), str(count), str(dies)]
        return subprocess.Popen([sys.executable, "-m", "tests.queue.soak", *words], cwd=ROOT, env=ENVIRONMENT)

    running = {f"p{n}": start(f"p{n}", die_at) for n in range(4)}
    killed: Counter[str] = Counter()
    while running:
        owner, process = next(iter(running.items()))
        status = process.wait(SECONDS)
        del running[owner]
        if status:
            assert -signal.SIGKILL == status
            killed[owner] += 1
            running[owner] = start(owner, die_at if killed[owner] < 2 else 0)
    return killed.total()


@pytest.mark.parametrize(
    ("database", "count", "die_at"),
    [("sqlite", 200, 0), ("sqlite", 40, 15), pytest.param("postgres", 200, 40, marks=pytest.mark.postgres)],
)
def test_four_processes(request: pytest.FixtureRequest, tmp_path: Path, database: str, count: int, die_at: int) -> None:
    """4 processes x 200 submit + claim + complete, without and with kills: no error, nothing lost, each effect once. (B08, B10)"""
    ledger, engine = tmp_path / "ledger.jsonl", request.getfixturevalue(database)
    killed = soak(engine, ledger, count, die_at)
    wanted = sorted(f"p{n}-{number}" for n in range(4) for number in range(count))
    with engine.connect() as connection:
        done = sorted(connection.scalars(select(tasks.c.user_input).where(tasks.c.state == "completed")))
        ends = connection.scalar(select(func.count()).select_from(progress_log).where(progress_log.c.terminal))
    assert (wanted, wanted, 4 * count) == (done, sorted({e.target for e in FileLedger(ledger).entries()}), ends)
    keys = Counter(effect.key for effect in FileLedger(ledger).entries())
    assert (1, bool(die_at)) == (max(keys.values()), killed >= 4)


@contextmanager
def labkit_worker(engine: Engine, tmp_path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    words = ["--database-url", url_of(engine), "--app", "tests.queue.app:handlers", *options]
    environment = {**ENVIRONMENT, "LEDGER": str(tmp_path / "ledger.jsonl")}
    command = [sys.executable, "-m", "labkit.queue.process", *words]
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
    """After SIGKILL the task of a process is taken by another one when the lease is over. (B09)"""
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
        (["--app", "tests.queue.app:ROOT"], "ROOT"),
        (["--app", "tests.queue.app:handlers", "--workers", "0"], "at least one worker"),
        (["--app", "tests.queue.app:handlers", "--database-url", "sqlite://"], "no database"),
        (["--app", "tests.queue.app:handlers", "--database-url", "nonsense"], "--database-url"),
        (["--app", "tests.queue.app:handlers", "--database-url", "sqlite:////no/such/place/x.db"], "--database-url"),
    ],
)
def test_unusable(words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What cannot be used ends with 2 and one line that says what is wrong."""
    assert 2 == main(["--database-url", f"sqlite:///{tmp_path}/x.db", *words])
    error = capsys.readouterr().err
    assert (1, True) == (len(error.splitlines()), said in error), error


def test_load() -> None:
    """A function is found by its name in its module, and a dict becomes one handler."""
    assert app.mail is load("tests.queue.app:mail")
    assert callable(load("tests.queue.app:handlers"))
    with pytest.raises(UsageError):
        load("tests.queue.app:pytest.x")
