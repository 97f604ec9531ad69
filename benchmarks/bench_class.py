"""A class graded with one call of `labkit grade`: seconds for an answer and for the class, and the memory in each quarter of the time.

Run: python benchmarks/bench_class.py [LEARNERS [EXERCISE ...]]; without words 30 learners and all exercises. A class of 300 with five exercises each
may take half an hour on two processors: python benchmarks/bench_class.py 300 retry idempotency claim saga sse
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))

import psutil
from grading import hand_in
from peers import surroundings
from table import show

LEARNERS, SEED, EVERY = 30, "4711", 2.0


def graded(returned: Path, out: Path) -> tuple[float, list[tuple[float, float]]]:
    """Seconds that the call took, and (the grader's memory, that of all its processes), in MB, every two seconds."""
    command = [sys.executable, "-m", "labkit", "grade", str(returned), "--out", str(out), "--masters", str(hand_in.MASTERS), "--seed", SEED]
    began, memory = perf_counter(), []
    grader = subprocess.Popen(command, env=surroundings(()))
    while True:
        try:
            if grader.wait(EVERY):
                raise SystemExit("labkit grade failed")
            return perf_counter() - began, memory
        except subprocess.TimeoutExpired:
            memory.append(taken(psutil.Process(grader.pid)))


def taken(grader: psutil.Process) -> tuple[float, float]:
    """Memory of the grader, and of it with all that it started; what processes share is counted for each."""
    own = grader.memory_info().rss
    return own / 1e6, (own + sum(_resident(child) for child in grader.children(recursive=True))) / 1e6


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def quarters(memory: list[tuple[float, float]]) -> list[tuple[str, ...]]:
    """The most in each quarter of the time."""
    size = max(1, -(-len(memory) // 4))
    parts = [memory[start : start + size] for start in range(0, len(memory), size)]
    return [(f"quarter {n}", *(f"{max(column):.0f} MB" for column in zip(*part, strict=True))) for n, part in enumerate(parts, 1)]


def main(words: list[str]) -> None:
    learners, exercises = int(words[0]) if words else LEARNERS, tuple(words[1:])
    with tempfile.TemporaryDirectory() as place:
        returned = Path(place) / "returned"
        answers = len(list(hand_in.a_class(returned, learners, exercises)))
        took, memory = graded(returned, Path(place) / "report")
    row = (f"{learners} learners x {answers // learners} exercises", f"{took / answers:.2f} s", f"{took / learners:.1f} s", f"{took / 60:.1f} min")
    show("labkit grade", [row], ("", "an answer", "a learner", "the class"))
    show("its memory", quarters(memory), ("", "grader", "with its processes"))


if __name__ == "__main__":
    main(sys.argv[1:])
