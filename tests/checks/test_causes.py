"""A likely cause is never one that the run itself refutes: the same symptom has another cause where the run shows another one."""

import pytest

from labkit.checks.judge import BROKEN, HOLDS, NOT_EXERCISED
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
    "a step of the clock": ("deadline/wrong/wall_clock_for_the_steps", "steady clock", "measures with the wall clock"),
    "nothing came at all": ("deadline/wrong/returns_none", "exactly is in time", "the results are not what the steps returned"),
    "nothing was run": ("deadline/wrong/do_nothing", "runs each place of the list", "runs nothing"),
    "wrong each time": ("deadline/wrong/returns_none", "starts afresh", "does not return what the steps did, the first time as well"),
    "no jitter above a floor": ("backoff/wrong/floor_without_jitter", "retry_after is a floor", "the jitter is lost where retry_after is given"),
    "uneven": ("backoff/wrong/bell_shaped", "retry_after is a floor", "the waits above retry_after are not drawn evenly"),
    "no end to spoil": ("lease/wrong/stays_running", "stops the zombie", "complete does not end the task"),
    "nothing in between": ("lease/wrong/stays_running", "one of two", "complete does not end the task"),
    "nothing is applied": ("patch/wrong/do_nothing", "replaces the plan", "the plan is not replaced"),
    "a plan that is empty": ("patch/wrong/empty_plan_is_no_plan", "replaces the plan", "takes an empty plan for no plan"),
    "the first value stays": ("patch/wrong/key_decides", "a new value beside the old", "a key keeps its first value: a new one is dropped"),
    "the last value stays": ("patch/wrong/new_value_replaces", "a new value beside the old", "a new value takes the place of the old one"),
    "texts are changed": ("patch/wrong/lower_case", "a new value beside the old", "compares texts after changing them"),
    "more is closed": ("patch/wrong/any_answer_closes_all", "closes what is answered", "an answer closes other questions too"),
    "more is forgotten": ("patch/wrong/newest_facts_only", "adds facts", "a fact that is known is lost"),
    "less is added": ("patch/wrong/first_fact_of_the_patch_only", "adds facts", "only a part of known_facts of the patch is applied"),
    "wrong on long lists": ("patch/wrong/only_150_facts", "long lists too", "counts on short lists"),
    "never waits": ("retry/wrong/never_waits", "doubles the waits", "does not wait on the clock that it was given"),
    "worked before it said so": ("idempotency/wrong/never_saves_running", "ends completed", "running is not saved before the work"),
    "an old result for the work": ("idempotency/wrong/old_result_is_enough", "ends completed", "says done without doing the work"),
    "asks for ever": ("resume/wrong/asks_the_store_for_ever", "ends completed", "never ends"),
    "two, no key": ("idempotency/wrong/chapter_listing", "two callers, one end", "two callers do the work without a key"),
}


@pytest.mark.parametrize(("answer", "name", "cause"), CAUSES.values(), ids=CAUSES)
def test_cause_is_one_that_the_run_shows(answer, name, cause):
    """What is said to be the likely cause fits what the run did."""
    report = run_check(answer.partition("/")[0], (ANSWERS / f"{answer}.py").read_text(), databases=("sqlite",))
    found = {one.name: one.diagnosis for one in report.properties if one.verdict == BROKEN}
    assert cause == found.get(name), found


NOTHING_ELSE = {  # a wrong answer, and what is said of properties that it does not break by anything of its own
    "patch/wrong/do_nothing": {
        "pure": NOT_EXERCISED,
        "a new value beside the old": NOT_EXERCISED,
        "a known fact once": NOT_EXERCISED,
        "leaves the rest alone": NOT_EXERCISED,
        "all parts at once": NOT_EXERCISED,
        "long lists too": NOT_EXERCISED,
        "twice is once": NOT_EXERCISED,
    },
    "patch/wrong/key_decides": {"a known fact once": HOLDS, "leaves the rest alone": HOLDS, "all parts at once": NOT_EXERCISED},
    "patch/wrong/answers_first": {"leaves the rest alone": HOLDS, "all parts at once": NOT_EXERCISED, "long lists too": NOT_EXERCISED},
    "patch/wrong/joins_with_nul": {"a known fact once": HOLDS},
    "deadline/wrong/never_looks_at_the_end": {"steady clock": HOLDS, "steady clock, late step": NOT_EXERCISED},
    "deadline/wrong/whole_time_for_each_step": {"steady clock": NOT_EXERCISED},
    "retry/wrong/the_chapters_bad_listing": {
        "retries every error": NOT_EXERCISED,
        "starts afresh": NOT_EXERCISED,
        "whatever is returned is a result": NOT_EXERCISED,
        "retries whatever its kind": NOT_EXERCISED,
    },
    "retry/wrong/never_waits": {"starts afresh": NOT_EXERCISED},
    "retry/wrong/waits_begin_at_two": {"starts afresh": NOT_EXERCISED},
    "idempotency/wrong/asks_the_store_for_ever": {"work is asked rightly": NOT_EXERCISED},
    "resume/wrong/asks_the_store_for_ever": {"work is asked rightly": NOT_EXERCISED},
}


@pytest.mark.parametrize(("answer", "verdicts"), NOTHING_ELSE.items(), ids=NOTHING_ELSE)
def test_one_bug_is_not_told_as_another(answer, verdicts):
    """A property is not broken by what another one tells already, and holds only where the answer came so far as to show it."""
    report = run_check(answer.partition("/")[0], (ANSWERS / f"{answer}.py").read_text(), databases=("sqlite",))
    found = {one.name: one.verdict for one in report.properties if one.name in verdicts}
    assert BROKEN == report.verdict
    assert verdicts == found


@pytest.mark.parametrize("exercise", ["idempotency", "resume"])
def test_error_that_always_happens_is_told_first(exercise):
    """An error of the answer's own that every run meets comes before what only a crash shows."""
    source = (ANSWERS / f"{exercise}/wrong/writes_into_the_task.py").read_text()
    report = run_check(exercise, source, databases=("sqlite",))
    assert "running is saved" in [one.name for one in report.properties if one.verdict == BROKEN]
    assert "your code raised FrozenInstanceError: cannot assign to field 'state' (line 9 of the answer)" == report.first_broken.message
    assert report.first_broken.token.endswith(":none")
