"""The broken ways of the lesson on agent state still break as it says, and the sound ones do not under the same trouble."""

import json

import pytest
from pydantic import ValidationError

from labkit.agent.patch import apply_patch
from labkit.agent.state import AgentState, StatePatch
from labkit.errors import StaleState
from labkit.faults import interleave, run_once, sweep
from labkit.lessons import agent_state as parts
from labkit.lessons import agent_state_again as again
from labkit.lessons import agent_state_contract as contract
from labkit.lessons.agent_state_errors import ERRORS, errors, why
from labkit.lessons.states import one_crash

BREAKS = {
    "the whole state is saved": "lost: disk of web-1, clean the logs",
    "a plan made from an older one": "lost: clean the logs",
    "lists that get longer": "twice: disk of web-1 = 95%, may the old logs go?",
    "one value for each key": "all that is known of the disk: 45%",
    "an old patch comes late": "the plan is the old one: clean the logs, deploy shop, set its route",
    "the budget in memory": "6 steps were paid for, and 3 allowed",
    "counted after the step": "4 steps were paid for, and 3 allowed",
    "what is unknown is dropped": "the owner is gone",
    "the model writes the state": "clean_logs ran, and no person was asked",
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_each_error_breaks_and_its_cure_holds(error):
    """As one writes it first it breaks for the lesson's reason; the sound way holds under the same trouble."""
    assert (BREAKS[error.name], None) == (why(error, sound=False), why(error, sound=True))


def test_the_last_table_holds_every_error():
    """Its rows are these errors, red beside green."""
    assert [(name, "broken", reason, "holds") for name, reason in BREAKS.items()] == [
        (name, first.verdict, first.text, sound.verdict) for name, first, sound in errors().rows
    ]


def test_facts_survive_either_order_and_the_later_plan_wins():
    """What the lesson lets one predict: patches from one state, applied in both orders."""
    a, b = parts.looks(parts.START), parts.hears(parts.START)
    ab, ba = (apply_patch(apply_patch(parts.START, first), second) for first, second in ((a, b), (b, a)))
    assert {fact.key for fact in ab.known_facts} == {fact.key for fact in ba.known_facts} == {"service", "disk of web-1", "namespace"}
    assert (b.plan, a.plan) == (ab.plan, ba.plan)


@pytest.mark.parametrize("preemptions", [1, 2])
def test_a_patch_of_its_version_holds_in_every_order(preemptions):
    """With two interruptions too, and something was contested."""
    report = interleave(parts.at_once(parts.patch_of_version), preemptions=preemptions)
    assert "holds" == report.verdict


def test_both_parts_end_with_both_changes_of_the_plan():
    """Thinking again makes one plan of two."""
    states, first = parts.kept()
    states.patch(parts.AGENT, parts.TASK, parts.looks(first.state), expected=first.version)
    with pytest.raises(StaleState) as stale:
        states.patch(parts.AGENT, parts.TASK, parts.hears(first.state), expected=first.version)
    newest = states.get(parts.AGENT, parts.TASK)
    assert stale.value.version == newest.version
    both = states.patch(parts.AGENT, parts.TASK, parts.hears(newest.state), expected=newest.version)
    assert ["clean the logs", "deploy shop into blue", "set its route"] == both.state.plan


def test_one_part_dies_anywhere():
    """A crash after the commit makes it read, and find nothing to add."""
    report = sweep(parts.one_part(parts.patch_of_version))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_a_part_that_thinks_twice_is_found_out():
    """The twin: saved twice by longer lists, step and fact are there twice."""

    def doubles(process, part):
        for _ in range(2):
            state = parts.states_of(process).get(parts.AGENT, parts.TASK).state
            parts.save_whole(process, again.extends(state, part(state)))

    assert "step and fact are there 1 and 2 times" == run_once(parts.one_part(doubles)).broken


def test_only_a_crash_after_the_commit_doubles():
    """One of ten places, as the lesson lets one predict."""
    verdicts = ["".join("X" if verdict == "broken" else "." for _, verdict, _ in one_crash(again.applied(join))) for join in (again.extends, apply_patch)]
    assert [".........X", ".........."] == verdicts


def test_a_late_patch_brings_its_plan_back():
    """Facts and questions stay as they are; the plan alone is the old one."""
    drawn = again.late_diff()
    assert ["plan"] == [name for name, _ in drawn.rows]


@pytest.mark.parametrize("way", [again.in_memory, again.spend_last, again.spend_first])
def test_undisturbed_every_count_pays_for_the_budget(way):
    """Each allows three steps, no more and no less, when nothing dies."""
    lines = [line for line in run_once(again.budgeted(way)).lines if line.boundary == "cloud" and line.side == "after"]
    assert again.STEPS == len(lines)


def test_a_budget_counted_spend_first_holds_anywhere():
    """Any number of crashes: a crash wastes, and never overdraws."""
    report = sweep(again.budgeted(again.spend_first))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_the_flag_comes_with_the_step_that_needs_it():
    """Not after the first of three, and with the second."""
    assert [[], ["budget_pressure"], ["budget_pressure"]] == [again.spent(number).risk_flags for number in (1, 2, 3)]


def test_what_the_contract_refuses():
    """Each wrong state is refused at the place that is wrong."""
    where = {name: contract.refused(*wrong)[0] for name, wrong in contract.WRONG.items()}
    assert {
        "no goal": "goal",
        "a plan that is one text": "plan",
        "a budget below zero": "budget / max_steps",
        "a risk level that there is not": "constraints / human_in_the_loop / required_for_risk_levels / 0",
        "a fact with a field too many": "known_facts / 0 / sure",
        "a patch of the constraints": "constraints",
    } == where
    assert ("", "accepted") == contract.refused(AgentState, {"goal": "deploy"})


def test_what_the_model_says_is_a_good_state_and_no_patch():
    """So it is the patch that refuses, and for its constraints alone."""
    wished = contract.as_a_state(parts.START, contract.SAID)
    assert [] == wished.constraints.human_in_the_loop.required_for_risk_levels
    with pytest.raises(ValidationError, match="constraints"):
        StatePatch.model_validate({"constraints": contract.SAID["constraints"]})
    assert StatePatch.model_validate({"facts": contract.SAID["known_facts"]}).facts


def test_who_waits_under_which_policy():
    """By risk level and nothing else; who only looks never waits."""
    asks = {name: [str(cell).endswith("asks first") for cell in cells] for name, _, *cells in contract.who_waits().rows}
    assert {
        "check_disk": [False, False, False],
        "clean_logs": [True, False, False],
        **{name: [True, True, False] for name in ("create_namespace", "deploy_container", "configure_route")},
    } == asks


def test_tomorrows_state_is_refused_by_todays_contract():
    """The rollout is a real one: the later version, and the field, are not taken."""
    for field in ("schema_version", "owner"):
        with pytest.raises(ValidationError, match=field):
            AgentState.model_validate(json.loads(json.dumps(contract.TOMORROW)))
