"""A likely cause is never one that the run itself refutes: the same symptom has another cause where the run shows another one."""

import pytest

from labkit.checks.judge import BROKEN
from labkit.checks.run import run_check
from tests.corpus import ANSWERS

CAUSES = {  # a wrong answer, a property that it breaks, and the cause
    "never worked": ("idempotency/wrong/running_left_alone", "ends completed", "a task found running is left alone, so nobody ever finishes it"),
    "made pending": (
        "resume/wrong/running_goes_to_pending_and_stays",
        "ends completed",
        "a task found running is only made pending, and nobody ever does the work",
    ),
    "did nothing": ("resume/wrong/do_nothing", "ends completed", "does nothing"),
    "end not stored": ("idempotency/wrong/memory_only", "ends completed", "the end of the work is not stored"),
    "ended with another result": ("idempotency/wrong/old_result_wins", "ends completed", "the result of an earlier try is taken for the result of the work"),
    "stored as failed": ("idempotency/wrong/strange_result_is_a_failure", "ends completed", "the work returned, and its task is stored as failed"),
    "two, neither stored": ("idempotency/wrong/memory_only", "two callers, one end", "the end of the work is not stored"),
    "wrong from the first use": ("retry/wrong/waits_begin_at_two", "starts afresh", "counts or waits otherwise than asked, in the first use as well"),
    "wrong without a step of the clock": ("deadline/wrong/whole_time_for_each_step", "steady clock", "every step gets the whole time"),
    "a step of the clock": ("deadline/wrong/wall_clock_for_the_steps", "steady clock", "measures with the wall clock"),
    "nothing came at all": ("deadline/wrong/returns_none", "exactly is in time", "the results are not what the steps returned"),
    "nothing was run": ("deadline/wrong/do_nothing", "runs each place of the list", "runs nothing"),
    "wrong each time": ("deadline/wrong/returns_none", "starts afresh", "does not return what the steps did, the first time as well"),
    "no jitter above a floor": ("backoff/wrong/floor_without_jitter", "retry_after is a floor", "the jitter is lost where retry_after is given"),
    "uneven": ("backoff/wrong/bell_shaped", "retry_after is a floor", "the waits above retry_after are not drawn evenly"),
    "no end to spoil": ("lease/wrong/stays_running", "stops the zombie", "complete does not end the task"),
    "nothing in between": ("lease/wrong/stays_running", "one of two", "complete does not end the task"),
    "two, no key": ("idempotency/wrong/chapter_listing", "two callers, one end", "two callers do the work without a key"),
}


@pytest.mark.parametrize(("answer", "name", "cause"), CAUSES.values(), ids=CAUSES)
def test_cause_is_one_that_the_run_shows(answer, name, cause):
    """What is said to be the likely cause fits what the run did."""
    report = run_check(answer.partition("/")[0], (ANSWERS / f"{answer}.py").read_text(), databases=("sqlite",))
    found = {one.name: one.diagnosis for one in report.properties if one.verdict == BROKEN}
    assert cause == found.get(name), found
