"""Measuring side by side: rounds in turn, so that a busy machine is busy for all, and medians printed as ratios.

Benchmarks are no tests: they print, and nothing fails when a machine is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter


def seconds(act: Callable[[], object]) -> float:
    """Real seconds that one call takes."""
    began = perf_counter()
    act()
    return perf_counter() - began


def side_by_side(acts: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Median seconds of each act, the acts taking turns."""
    times: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            times[name].append(seconds(act))
    return {name: median(found) for name, found in times.items()}


def show(title: str, rows: list[tuple[str, ...]], heads: tuple[str, ...]) -> None:
    """Print a table with aligned columns."""
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    print(f"\n{title}")
    for row in [heads, *rows]:
        print("  " + "  ".join(cell.ljust(width) if index == 0 else cell.rjust(width) for index, (cell, width) in enumerate(zip(row, widths, strict=True))))
