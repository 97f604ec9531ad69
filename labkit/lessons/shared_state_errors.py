"""The errors of the lesson on shared state, each as a scenario that breaks and one that does not, run now under the same trouble.

Not handled here: the scenarios themselves (see `shared_state` and `shared_state_waits`).
"""

from __future__ import annotations

from labkit.faults import interleave, run_once
from labkit.faults.chart_table import Table, judged, table
from labkit.lessons import shared_state as lesson
from labkit.lessons import shared_state_waits as waits
from labkit.lessons.checkpoints_errors import Error

AFTER_THE_CONTAINER = "p1@cloud2.after+crash"
ANY_ORDER = "any order"

SOUND = lesson.taken_over("key_of_the_task", key=lesson.task_key)
WHOLE, PATCH = (
    lesson.mid_step(way.__name__, lesson.task_key, way, alert=True)
    for way in (lesson.whole_state, lesson.patch_of_version)
)
ERRORS = (
    Error("starts from the top", lesson.taken_over("from_the_top", lesson.starts_over), SOUND, AFTER_THE_CONTAINER),
    Error("a key of the agent's own", lesson.taken_over("from_the_plan"), SOUND, AFTER_THE_CONTAINER),
    Error("the same, and both are alive", lesson.mid_step("own_key", lesson.own_key), lesson.mid_step("task_key", lesson.task_key)),
    Error("the whole state is saved", WHOLE, PATCH),
    Error("reads, then subscribes", waits.waiting(waits.reads_then_subscribes), waits.waiting(waits.subscribes_then_reads), ANY_ORDER),
)  # fmt: skip


def why(error: Error, sound: bool) -> str | None:
    """What breaks it: two agents in any order, or the schedule of the error."""
    scenario = error.sound if sound else error.first
    if error.schedule != ANY_ORDER:
        return run_once(scenario, error.schedule).broken
    report = interleave(scenario)
    return report.broken[0].why if report.broken else None


def errors() -> Table:
    """Every error, as one writes it first and as it should be."""
    rows = [[one.name, *(judged(why(one, sound)) for sound in (False, True))] for one in ERRORS]
    return table(["", "as one writes it first", "as it should be"], rows)
