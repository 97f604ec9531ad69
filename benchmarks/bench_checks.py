"""Seconds that a check of each exercise takes on its right answers, warm, with both databases.

Run: python benchmarks/bench_checks.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from table import seconds, show

from labkit.checks import registry
from labkit.checks.run import run_check

ANSWERS = Path(__file__).parent.parent / "tests" / "answers"
BUDGET = 3.0  # seconds: a check that takes longer stops teaching


def main() -> None:
    run_check("warmup", "def effect_key(task_id, step): return task_id + step")  # warms the parent up
    rows = []
    for exercise in registry.IDS:
        for answer in sorted((ANSWERS / exercise / "right").glob("*.py")):
            source = answer.read_text(encoding="utf-8")
            verdict = run_check(exercise, source).verdict
            taken = min(seconds(lambda e=exercise, s=source: run_check(e, s)) for _ in range(2))  # type: ignore[misc]
            rows.append((f"{exercise}/{answer.name}", verdict, f"{taken:.2f} s", f"{taken / BUDGET:.0%}"))
    show("one check", rows, ("", "verdict", "takes", f"of {BUDGET:g} s"))


if __name__ == "__main__":
    main()
