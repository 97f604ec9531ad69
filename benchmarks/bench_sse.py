"""1,000 subscribers of one task on one server process, 100 events: does each get each event in order, how many go out a second, and what memory it takes.

Beside a plain sse-starlette app. Run: python benchmarks/bench_sse.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import psutil
from peers import hear, surroundings
from table import show

HERE = Path(__file__).parent / "sse"
SUBSCRIBERS, EVENTS, ROUNDS = 1_000, 100, 3
SERVERS = {"sse-starlette, a queue per subscriber": "bare_server.py", "labkit": "labkit_server.py"}


def once(script: str) -> tuple[float, float, int]:
    """(events out a second, most memory in MB, how many readers had all of it in order)."""
    environment = surroundings(())
    server = _start(script, str(EVENTS), environment=environment)
    try:
        port, task_id = hear(server).split()
        before = psutil.Process(server.pid).memory_info().rss
        readers = _start("readers.py", port, task_id, str(SUBSCRIBERS), str(EVENTS), environment=environment)
        hear(readers, "ready")
        assert server.stdin is not None
        server.stdin.write("go\n")
        server.stdin.flush()
        right, seconds = hear(readers).split()
        memory = (psutil.Process(server.pid).memory_info().rss - before) / 1e6
        readers.wait()
        return SUBSCRIBERS * EVENTS / float(seconds), memory, int(right)
    finally:
        server.kill()
        server.wait()


def _start(script: str, *arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main() -> None:
    found = {title: [once(script) for _ in range(ROUNDS)] for title, script in SERVERS.items()}
    base = sorted(found[next(iter(SERVERS))])[ROUNDS // 2][0]
    rows = []
    for title, rounds in found.items():
        rate, memory, right = sorted(rounds)[ROUNDS // 2]
        rows.append((title, f"{rate:,.0f}", f"{rate / base:.2f}", f"{memory:.0f} MB", f"{right:,} of {SUBSCRIBERS:,}"))
    show(f"{SUBSCRIBERS:,} subscribers x {EVENTS} events", rows, ("", "events/s", "ratio", "memory", "had all in order"))


if __name__ == "__main__":
    main()
