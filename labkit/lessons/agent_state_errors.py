"""The errors of the lesson on agent state, each as a scenario that breaks and one that does not, run now under the same trouble.

Not handled here: the scenarios themselves (see `agent_state`, `agent_state_again` and `agent_state_contract`).
"""

from __future__ import annotations

from labkit.agent.patch import apply_patch
from labkit.faults import interleave, run_once, sweep
from labkit.faults.chart_table import Table, judged, table
from labkit.lessons import agent_state as parts
from labkit.lessons import agent_state_again as again
from labkit.lessons import agent_state_contract as contract
from labkit.lessons.checkpoints_errors import Error

ANYWHERE = "crash anywhere"
AFTER_THE_STEP = "p1@cloud3.after+crash"

ERRORS = (
    Error("the whole state is saved", parts.at_once(parts.whole_state), parts.at_once(parts.patch_of_version)),
    Error("a plan made from an older one", parts.at_once(parts.patch_only), parts.at_once(parts.patch_of_version)),
    Error("lists that get longer", again.applied(again.extends), again.applied(apply_patch), ANYWHERE),
    Error("one value for each key", again.measured(again.value_of_key), again.measured(apply_patch)),
    Error("an old patch comes late", again.late(versioned=False), again.late(versioned=True)),
    Error("the budget in memory", again.budgeted(again.in_memory), again.budgeted(again.spend_first), AFTER_THE_STEP),
    Error("counted after the step", again.budgeted(again.spend_last), again.budgeted(again.spend_first), AFTER_THE_STEP),
    Error("what is unknown is dropped", contract.rolled_out(contract.takes_what_it_knows), contract.rolled_out(contract.says_that_it_is_later)),
    Error("the model writes the state", contract.said_by_model(contract.as_a_state), contract.said_by_model(contract.as_a_patch)),
)  # fmt: skip


def why(error: Error, sound: bool) -> str | None:
    """What breaks it: two parts in any order, one part at any place to die, or the schedule of the error."""
    scenario = error.sound if sound else error.first
    if len(scenario.bodies) == 1 and error.schedule != ANYWHERE:
        return run_once(scenario, error.schedule).broken
    report = sweep(scenario) if error.schedule == ANYWHERE else interleave(scenario, preemptions=1)
    return report.broken[0].why if report.broken else None


def errors() -> Table:
    """Every error, as one writes it first and as it should be."""
    rows = [[one.name, *(judged(why(one, sound)) for sound in (False, True))] for one in ERRORS]
    return table(["", "as one writes it first", "as it should be"], rows)
