"""Claims and completions per second: labkit's queue, a bare loop and other queues, in one run. Each peer has an environment of its own.

Run: python benchmarks/bench_queue.py [sqlite] [postgres]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))

from peers import HERE, hear, installed, python_of, surroundings
from table import show

from labkit.postgres import fresh_database

ROUNDS = 5


@dataclass(frozen=True)
class Peer:
    """One row: a script, its own packages (none: this environment), how many jobs, and what it must be ahead of."""

    name: str
    script: str
    packages: tuple[str, ...] = ()
    jobs: int = 2000
    workers: int = 1
    most: int = 1
    how: str = ""
    budget: str = ""

    @property
    def environment(self) -> str:
        return self.script.removesuffix(".py")


DBOS = ("dbos==3.4.0",)
PGQUEUER, PROCRASTINATE = ("pgqueuer[asyncpg]==1.6.0",), ("procrastinate==3.10.0", "psycopg[binary]")
POSTGRES = {
    workers: [
        Peer("bare psycopg, 2 commits", "bare_psycopg.py", workers=workers),
        Peer("labkit, 2 commits", "labkit_worker.py", workers=workers, how="two", budget="ahead of peers, batch 1"),
        Peer("procrastinate", "procrastinate_worker.py", PROCRASTINATE, 400, workers),
        Peer("PGQueuer, batch 1", "pgqueuer_worker.py", PGQUEUER, 400, workers),
        *([Peer("DBOS", "dbos_worker.py", DBOS, 400)] if workers == 1 else []),
        Peer("labkit, complete and claim", "labkit_worker.py", workers=workers, how="fused", budget="1.3"),
        Peer("labkit, Worker", "labkit_worker.py", workers=workers, how="worker"),
        Peer("bare psycopg, batch 10", "bare_psycopg.py", jobs=4000, workers=workers, most=10),
        Peer("PGQueuer, batch 10", "pgqueuer_worker.py", PGQUEUER, 4000, workers, most=10),
        Peer("labkit, batch 10", "labkit_worker.py", (), 4000, workers, 10, "batch", "ahead of PGQueuer's 10"),
        Peer("labkit, claims of 10", "labkit_worker.py", (), 4000, workers, 10, "claims"),
    ]
    for workers in (1, 4)
}
SQLITE = [
    Peer("bare sqlite3, 2 commits", "bare_sqlite.py"),
    Peer("labkit, 2 commits", "labkit_worker.py", how="two", budget="0.8"),
    Peer("huey (no acknowledgement)", "huey_sqlite.py", ("huey==3.5.4",)),
    Peer("labkit, complete and claim", "labkit_worker.py", how="fused", budget="1.5"),
    Peer("labkit, Worker", "labkit_worker.py", how="worker"),
    Peer("labkit, batch 10", "labkit_worker.py", jobs=4000, most=10, how="batch"),
]


def command(peer: Peer, *words: str) -> list[str]:
    return [python_of(peer.environment, peer.packages), str(HERE / "queue" / peer.script), *words, *([peer.how] if peer.how else [])]


def rate(peer: Peer, url: str) -> float:
    """Jobs per second from the word to the end of the last process; starting and filling are not counted."""
    plain = surroundings(peer.packages)
    subprocess.run(command(peer, "fill", url, str(peer.jobs)), check=True, env=plain)
    started = [
        subprocess.Popen(command(peer, "work", url, f"w{n}", str(peer.most)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, env=plain)
        for n in range(peer.workers)
    ]  # fmt: skip
    for process in started:
        hear(process, "ready")
    began = perf_counter()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
    for process in started:
        hear(process, "done")
    taken = perf_counter() - began
    for process in started:
        process.wait()
    return peer.jobs / taken


@contextmanager
def postgres(peer: Peer) -> Iterator[str]:
    with fresh_database() as database:
        yield database.url.replace("+psycopg", "")


@contextmanager
def sqlite(peer: Peer) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.sqlite"
        yield f"sqlite:///{path}" if peer.how else str(path)


def compare(title: str, peers: list[Peer], database: Callable[[Peer], object]) -> None:
    """Rounds in turn, so that a busy machine is busy for all; the first peer is 1.0."""
    peers = [peer for peer in peers if installed(peer.name, peer.environment, peer.packages)]
    rates: dict[Peer, list[float]] = {peer: [] for peer in peers}
    for _ in range(ROUNDS):
        for peer in peers:
            with database(peer) as url:  # type: ignore[attr-defined]
                rates[peer].append(rate(peer, url))
    bare = median(rates[peers[0]])
    ratios = {peer: median(r / b for r, b in zip(found, rates[peers[0]], strict=True)) for peer, found in rates.items()}
    rows = [(p.name, f"{median(found):.0f}", f"{ratios[p]:.2f}", p.budget) for p, found in rates.items()]
    show(f"{title} (bare: {bare:.0f}/s)", rows, ("", "jobs/s", "ratio", "budget"))


def main(databases: list[str]) -> None:
    if "sqlite" in databases:
        compare("SQLite, WAL, FULL; 1 process", SQLITE, sqlite)
    if "postgres" in databases:
        for workers, peers in POSTGRES.items():
            compare(f"PostgreSQL, {workers} process{'es' if workers > 1 else ''}", peers, postgres)


if __name__ == "__main__":
    main(sys.argv[1:] or ["sqlite", "postgres"])
