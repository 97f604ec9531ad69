"""The errors of the lesson on checkpoints, each as a scenario that breaks and one that does not, under the same schedule.

Not handled here: the scenarios themselves (see `checkpoints_broken`, `checkpoints_validity` and `checkpoints_bytes`).
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.faults import Scenario, run_once
from labkit.faults.chart_table import Mark, Table, judged, table
from labkit.lessons import checkpoints_broken as broken
from labkit.lessons import checkpoints_bytes as sizes
from labkit.lessons import checkpoints_validity as validity

NO_TROUBLE = "none"


@dataclass(frozen=True)
class Error:
    """One error: as one writes it first, as it should be, and the schedule that tells them apart."""

    name: str
    first: Scenario
    sound: Scenario
    schedule: str = NO_TROUBLE


ERRORS = (
    Error("the end is not saved", validity.the_end(validity.chapters_maybe_save), validity.the_end(validity.labkits_maybe_save)),
    Error("the newest by time", broken.newest(broken.by_time), broken.newest(broken.by_number), broken.CLOCK_SET_BACK),
    Error("damaged is missing", broken.torn(broken.damaged_is_missing), broken.torn(broken.damaged_is_damaged), broken.TORN),
    Error("old, and believed", validity.yesterday(validity.without_looking), validity.yesterday(validity.state_first)),
    Error("age before state", validity.monday(validity.age_first), validity.monday(validity.state_first)),
    Error("the count holds nothing back", broken.rotation(broken.saved_then_cleaned), broken.rotation(broken.saved_and_pruned)),
    Error("rotation forgets a tool", broken.remembers(broken.names_its_own), broken.remembers(broken.names_all), broken.IN_THE_LAST_TOOL),
    Error("all outputs in each", sizes.long_run(sizes.in_each), sizes.long_run(sizes.as_artifacts)),
)  # fmt: skip


def tried(scenario: Scenario, schedule: str) -> Mark:
    """What becomes of one run."""
    why = run_once(scenario, schedule).broken
    return judged(why)


def errors() -> Table:
    """Every error, as one writes it first and as it should be, run now."""
    rows = [[one.name, tried(one.first, one.schedule), tried(one.sound, one.schedule)] for one in ERRORS]
    return table(["", "as one writes it first", "as it should be"], rows)
