"""Thousands of drawn schedules over sagas, checkpoints and agents: crashes, lost answers, errors and delays, up to three in each.

And the closures of the longer agents, which take a minute each. Run: `python -m tests.searching [COUNT]`, 10,000 unless said otherwise. Ends with 0 if
nothing was found.
"""

from __future__ import annotations

import sys

from labkit.faults import search, sweep
from tests.agent import worlds as agents
from tests.checkpoint.test_crashes import drawn
from tests.saga import worlds

SAGAS = [worlds.FORWARD, worlds.BACKWARD, worlds.UNKNOWN, worlds.NESTED]
AGENTS = [agents.DISK, agents.DEPLOYMENT, agents.APPROVED]
SEARCHED = [*SAGAS, drawn(), *AGENTS]
FAULTS = ("crash", "timeout", "error", "duplicate", "interrupt", "delay(30)")


def main(count: int) -> int:
    reports = [search(scenario, examples=count // len(SEARCHED), faults=FAULTS) for scenario in SEARCHED]
    reports += [sweep(scenario) for scenario in AGENTS]
    for report in reports:
        print(report)
    return int(any(report.verdict != "holds" for report in reports))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
