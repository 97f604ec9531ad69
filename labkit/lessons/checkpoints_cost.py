"""What a strategy costs and what it loses: writes, bytes, and for each place to die the work that is in no checkpoint.

Writes and bytes are those that a store would write. Lost work is read in the trace of one run in virtual time: whoever dies at a
call goes on from the last commit before it, so what was worked since then is worked again.

Not handled here: the run (see `checkpoints`), and what large results do to the bytes (see `checkpoints_bytes`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean
from types import SimpleNamespace
from typing import Any

from labkit.checkpoint import Checkpoint
from labkit.checkpoint.data import encode
from labkit.checkpoint.manager import STRATEGIES
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.faults import run_once
from labkit.faults.chart_table import Table, bad, table
from labkit.faults.paint import element, seconds
from labkit.lessons.checkpoints import STEP_SECONDS, STEPS, keeper_of, roll_out, rolling_out
from labkit.lessons.evening_charts import Bars

COMMIT_SECONDS = 0.05  # of one save, on a database in another room
MINUTE_EIGHT = "p1@clock32.after+crash"


@dataclass(frozen=True)
class Cost:
    """What one strategy wrote in a run without trouble, and the steps lost at each crash point, as (step, how many)."""

    when: str
    writes: int
    bytes: int
    lost: tuple[tuple[int, float], ...]

    @property
    def worst(self) -> float:
        return max((steps for _, steps in self.lost), default=0.0)

    @property
    def mean(self) -> float:
        return mean([steps for _, steps in self.lost] or [0.0])

    def worst_in(self, step: int) -> float:
        return max((steps for number, steps in self.lost if number == step), default=0.0)

    def __str__(self) -> str:
        writes = f"{self.writes} {'write' if self.writes == 1 else 'writes'}, {size(self.bytes)}"
        return f"{writes}; loses up to {self.worst:g}, on average {self.mean:.1f} steps"


def size(count: int) -> str:
    """Bytes for people."""
    return f"{count / 1000:,.0f} kB" if count >= 10_000 else f"{count / 1000:,.1f} kB"


def plural(steps: float) -> str:
    return "step" if steps == 1 else "steps"


class Meter:
    """The least that a manager needs of a store, in memory; it counts what a real one would write."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self._kept = clock, dict[int, Checkpoint]()
        self.writes = self.bytes = 0

    def append(self, task_id: str, data: dict[str, Any]) -> int:
        text = encode(data)
        self.writes, self.bytes = self.writes + 1, self.bytes + len(text.encode())
        self._kept[self.writes] = Checkpoint(task_id, self.writes, self._clock.now(), json.loads(text), True)
        return self.writes

    def load(self, task_id: str) -> list[Checkpoint]:
        return list(self._kept.values())

    def delete(self, task_id: str, seq: int) -> None:
        del self._kept[seq]


def written(when: str) -> tuple[int, int]:
    """Writes and bytes of one run without trouble."""
    clock = VirtualClock()
    meter = Meter(clock)
    # no simulator here: it stops a process that calls out a thousand times
    process: Any = SimpleNamespace(clock=clock, cloud=Cloud(MemoryLedger(), clock))
    roll_out(process, keeper_of(process, when, store=meter))
    return meter.writes, meter.bytes


def lost_work(when: str) -> list[tuple[int, float]]:
    """(step, steps lost) for each crash point of the run."""
    step, saved, found = 0, 0.0, []
    for line in run_once(rolling_out(when)).lines:
        if line.kind != "cross":
            continue
        step += line.boundary == "clock" and line.side == "before"
        saved = line.time if (line.label, line.side) == ("COMMIT", "after") else saved
        found.append((step, (line.time - saved) / STEP_SECONDS))
    return found


@cache
def cost(when: str) -> Cost:
    """One strategy, measured."""
    return Cost(when, *written(when), tuple(lost_work(when)))


def extremes() -> Table:
    """After every token, and at the end alone: what each costs when nothing happens, and what the reboot at minute eight costs."""
    rows = []
    for when in ("every_token", "at_the_end"):
        writes, total = written(when)
        waits = round(writes * COMMIT_SECONDS, 1)
        again = _reboot_costs(when)
        rows.append([when, writes, size(total), bad(seconds(waits)) if waits > 60 else seconds(waits), again])
    return table(["saved", "writes", "written", "waits for saves", "lost at minute eight"], rows)


def _reboot_costs(when: str) -> object:
    """How much longer a run takes that is killed at minute eight; a half said sentence is no step, so words are left out."""
    same = "every_step" if when == "every_token" else when
    lost = run_once(rolling_out(same), MINUTE_EIGHT).lines[-1].time - STEPS * STEP_SECONDS
    return bad(seconds(lost)) if lost > 60 else seconds(lost)


def costs(whens: Sequence[str] = STRATEGIES) -> Table:
    """Writes and bytes against lost steps, a row for each strategy."""
    rows = [
        [one.when, one.writes, size(one.bytes), len(one.lost), f"{one.worst:g}", f"{one.mean:.1f}"]
        for one in map(cost, whens)
    ]
    return table(["saves", "writes", "written", "crash points", "steps lost, worst", "steps lost, mean"], rows)


@dataclass(frozen=True, repr=False)
class Teeth(Bars):
    """For each step of the run: how many steps are lost if it dies at the worst place in it."""

    def at(self, index: int) -> str:
        return f"step {index + 1}" if index < STEPS else "the end"

    def hint(self, index: int, count: float) -> str:
        return f"dies in {self.at(index)}: {count:g} {plural(count)} lost"

    def _repr_html_(self) -> str:
        below = "a bar is a step of the run; as high as what is lost if it dies there at the worst place"
        drawn, _, end = super()._repr_html_().rpartition('<div class="lk-below">')
        return drawn + element("div", below, cls="lk-below") + end.partition("</div>")[2]


def teeth(whens: Sequence[str] = STRATEGIES) -> Teeth:
    """The strategies under each other, on one scale."""
    found = [cost(when) for when in whens]
    series = tuple((one.when, tuple(one.worst_in(step + 1) for step in range(STEPS))) for one in found)
    title = "How many steps are lost, by the step in which it dies"
    return Teeth(series, 1.0, 1.0, title, "", None, "steps", tuple(map(str, found)))
