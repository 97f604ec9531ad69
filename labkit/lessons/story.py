"""One running story: an agent deploys `shop`, a deployment takes ten virtual minutes, and at minute eight the machine reboots.

`reboot` makes a scenario of whatever function deploys; `places` kills it once at each side of each of its calls; `bill` reads in a
trace what the outside world did, which is all that the customer sees.

Not handled here: several crashes in a row (see `faults.sweep`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.faults import End, Report, Scenario, Trace, run_once
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.paint import seconds
from labkit.faults.scenario import Body
from labkit.faults.strip import Strip, strip
from labkit.faults.trace import Line

APP = "shop"


def reboot(body: Body, name: str = "reboot") -> Scenario:
    """A deployment that is started again after a crash; at the end exactly one container is to run."""
    return Scenario(name, body, [one_container])


def one_container(end: End) -> str | None:
    """An invariant: exactly one container was started."""
    count = end.count("deploy_container", APP)
    return None if count == 1 else f"{count} containers, not 1"


def effects(trace: Trace) -> list[Line]:
    """What changed in the outside world; calls that were answered from the ledger changed nothing."""
    return [line for line in trace.lines if line.kind == "effect" and not line.text.endswith("again")]


def containers(trace: Trace) -> int:
    """How many containers were started in this run."""
    return sum(line.label.startswith("deploy_container") for line in effects(trace))


def bill(trace: Trace) -> Table:
    """The ledger of the outside world, a row for each effect."""
    rows = [(seconds(line.time), line.process, line.label, line.text.removeprefix("key=")) for line in effects(trace)]
    return table(("when", "process", "effect", "key"), rows)


def strips(reports: Mapping[str, Report]) -> Strip:
    """The crash points of each sweep as a strip under its name."""
    return strip((label, report.strip()) for label, report in reports.items())


@dataclass(frozen=True)
class Places:
    """One crash at each place, in order: (schedule, what stood there, trace); `why` says why there is nothing to try."""

    runs: tuple[tuple[str, str, Trace], ...]
    why: str = ""

    @property
    def broken(self) -> int:
        return sum(trace.broken is not None for _, _, trace in self.runs)

    def _table(self) -> Table:
        if self.why:
            return table(("without a crash", "nothing to try"), [("no place", bad(self.why))])
        return table(("it died", "containers", "the run ended after"), [_row(*run) for run in self.runs])

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def _row(schedule: str, label: str, trace: Trace) -> tuple[Any, ...]:
    side = schedule.partition(".")[2].partition("+")[0]
    count, end = containers(trace), _end(trace)
    when = seconds(trace.lines[-1].time)
    ended = when if end.label == "returned" else f"{when}: {end.text or end.label}"
    return f"{side} {label}", bad(count) if trace.broken else good(count), ended


def _end(trace: Trace) -> Line:
    """How the last process ended."""
    return [line for line in trace.lines if line.kind == "end"][-1]


def places(scenario: Scenario) -> Places:
    """Kill the first process at each side of each of its calls, one run each.

    Code that raises although nothing is in its way is not tried any further: the table says what it raised.
    """
    calm = run_once(scenario)
    crossings = [line for line in calm.lines if line.kind == "cross" and line.process == "p1"]
    if _end(calm).label != "returned":
        return Places((), f"your code {_end(calm).text or _end(calm).label}")
    if not crossings:
        return Places((), "your code calls nothing outside, so there is no place to die at")
    runs = []
    for line in crossings:
        schedule = f"p1@{line.number}.{line.side}+crash"
        runs.append((schedule, line.label, run_once(scenario, schedule)))
    return Places(tuple(runs))
