"""Four processes on one database, killed again and again, until nothing is left; then: what was submitted, less the ledger.

Run: `make soak`, which is python -m tests.queue.soaking [COUNT]. Ends with 0 if the difference is empty on both databases.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, func, select

from labkit.cloud import FileLedger
from labkit.database import open_engine
from labkit.postgres import fresh_database
from labkit.tables import create_tables, progress_log, tasks
from tests.checkout import ROOT
from tests.queue.helpers import until

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
OWNERS = [f"p{number}" for number in range(4)]


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def soak(engine: Engine, ledger: Path, count: int, die_at: int, kills: int = 2) -> int:
    """Each process submits `count` tasks and is killed after every `die_at` effects, `kills` times; how many were killed."""

    def start(owner: str, dies: int) -> subprocess.Popen[bytes]:
        words = [owner, url_of(engine), str(ledger), str(count), str(dies)]
        return subprocess.Popen([sys.executable, "-m", "tests.queue.soak", *words], cwd=ROOT, env=ENVIRONMENT)

    running = {owner: start(owner, die_at) for owner in OWNERS}
    killed: Counter[str] = Counter()
    try:
        while running:
            until(lambda: any(process.poll() is not None for process in running.values()))
            for owner, process in list(running.items()):
                if process.poll() is not None and running.pop(owner).returncode:
                    assert -signal.SIGKILL == process.returncode
                    killed[owner] += 1
                    running[owner] = start(owner, die_at if killed[owner] < kills else 0)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return killed.total()


def difference(engine: Engine, ledger: Path, count: int) -> dict[str, list[str]]:
    """What is wrong, by kind; nothing is what a queue owes."""
    submitted = {f"{owner}-{number}" for owner in OWNERS for number in range(count)}
    effects = Counter(effect.target for effect in FileLedger(ledger).entries())
    with engine.connect() as connection:
        done = Counter(connection.scalars(select(tasks.c.user_input).where(tasks.c.state == "completed")))
        ends = connection.scalar(select(func.count()).select_from(progress_log).where(progress_log.c.terminal))
    found = {
        "without effect": submitted - effects.keys(),
        "not completed": submitted - done.keys(),
        "nobody's": effects.keys() - submitted,
        "doubled": {target for target in effects.keys() | done.keys() if effects[target] > 1 or done[target] > 1},
        "terminal events": set() if ends == len(submitted) else {str(ends)},
    }
    return {kind: sorted(names) for kind, names in found.items() if names}


def main(count: int) -> int:
    with TemporaryDirectory() as folder, fresh_database() as fresh:
        wrong = False
        for name, url in (("sqlite", f"sqlite:///{folder}/tasks.db"), ("postgres", fresh.url)):
            engine, ledger = open_engine(url), Path(folder) / f"{name}.jsonl"
            create_tables(engine)
            killed = soak(engine, ledger, count, die_at=max(1, count // 6), kills=5)
            found = difference(engine, ledger, count)
            print(f"{name}: {len(OWNERS) * count} submitted, {killed} processes killed, difference: {found or 'none'}", flush=True)
            wrong = wrong or bool(found) or not killed
            engine.dispose()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(int((sys.argv[1:] or ["300"])[0])))
