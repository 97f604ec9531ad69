"""Seconds for a run of n durable steps: labkit's saga and checkpoints, n + 1 raw commits, DBOS and LangGraph, in one run.

Each peer has a process and, where it needs packages, an environment of its own. The steps do nothing: what is measured is what it
costs that each of them is durable before the next begins.

Run: python benchmarks/bench_durable_step.py [sqlite] [postgres]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from peers import HERE, hear, installed, python_of, surroundings
from table import show

from labkit.postgres import fresh_database

STEPS = 40
ROUNDS = 15


@dataclass(frozen=True)
class Peer:
    """One row: a script, its own packages (none: this environment), and what it must not exceed."""

    name: str
    script: str
    packages: tuple[str, ...] = ()
    how: str = ""
    budget: str = ""

    @property
    def environment(self) -> str:
        return self.script.removesuffix(".py")


DBOS = Peer("DBOS", "dbos_steps.py", ("dbos==3.4.0",), budget="3x labkit or more")
OURS = [
    Peer("labkit, saga", "labkit_steps.py", how="saga", budget="at most 2"),
    Peer("labkit, checkpoints", "labkit_steps.py", how="checkpoint", budget="at most 2"),
]
LANGGRAPH = Peer("LangGraph, SQLite saver", "langgraph_steps.py", ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2"), budget="1.5x labkit or more")
PEERS = {
    "sqlite": [Peer("raw commits", "bare_sqlite.py"), *OURS, DBOS, LANGGRAPH],
    "postgres": [Peer("raw commits", "bare_psycopg.py"), *OURS, DBOS],
}


def start(peer: Peer, url: str) -> subprocess.Popen[str]:
    words = [python_of(peer.environment, peer.packages), str(HERE / "steps" / peer.script), url, *([peer.how] if peer.how else [])]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=surroundings(peer.packages))
    hear(process, "ready")
    return process


def ask(process: subprocess.Popen[str], steps: int) -> float:
    """Seconds that one run of so many steps takes."""
    assert process.stdin is not None
    process.stdin.write(f"{steps}\n")
    process.stdin.flush()
    return float(hear(process))


def stop(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def open_place(stack: ExitStack, database: str) -> str:
    """A URL of a database that is gone afterwards."""
    if database == "postgres":
        return stack.enter_context(fresh_database()).url.replace("+psycopg", "")
    return f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/steps.sqlite"


def compare(database: str, peers: list[Peer]) -> None:
    """Rounds in turn, so that a busy machine is busy for all; the first round warms up, the first peer is 1.0."""
    peers = [peer for peer in peers if installed(peer.name, peer.environment, peer.packages)]
    times: dict[Peer, list[float]] = {peer: [] for peer in peers}
    with ExitStack() as stack:
        started = {}
        for peer in peers:
            started[peer] = start(peer, open_place(stack, database))
            stack.callback(stop, started[peer])
        for round in range(ROUNDS + 1):
            for peer, process in started.items():
                taken = ask(process, STEPS)
                times[peer] += [taken] if round else []
    raw = times[peers[0]]
    ratios = {peer: median(t / r for t, r in zip(found, raw, strict=True)) for peer, found in times.items()}
    least = min(ratio for peer, ratio in ratios.items() if peer in OURS)
    rows = [
        (peer.name, f"{median(found) / STEPS * 1e6:.0f} us", f"{ratios[peer]:.2f}", f"{ratios[peer] / least:.1f}", peer.budget)
        for peer, found in times.items()
    ]
    show(f"{STEPS} durable steps on {database}", rows, ("", "a step", "to raw commits", "to labkit's best", "budget"))


def main(databases: list[str]) -> None:
    for database, peers in PEERS.items():
        if database in databases:
            compare(database, peers)


if __name__ == "__main__":
    main(sys.argv[1:] or [*PEERS])
