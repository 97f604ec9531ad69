"""Silence is not success: an answer that never does anything has shown nothing, whatever the exercise."""

import pytest

from labkit.checks import registry
from labkit.checks.judge import BROKEN, HOLDS, NOT_EXERCISED
from labkit.checks.run import run_check
from labkit.checks.slips import OWN_ERROR

BODIES = {
    "does nothing": ("return None", {"ends"}),
    "raises at once": ("raise RuntimeError('no')", {"ends"}),
    "raises what some ask for": ("raise ValueError('no')", {"ends"}),
    "misspelt": ("return no_such_name", set()),
}


def answer(exercise, body):
    """The functions that an exercise asks for, all with this body."""
    written = []
    for name, parameters in exercise.signatures.items():
        by_place = [p for p in parameters if not p.startswith("*")]
        by_name = [f"{p[1:]}=None" for p in parameters if p.startswith("*")]
        star = ["*"] if by_name else []
        written.append(f"def {name}({', '.join([*by_place, *star, *by_name])}):\n    {body}\n")
    return "\n".join(written)


@pytest.mark.parametrize("asked", registry.IDS)
@pytest.mark.parametrize(("body", "may_hold"), BODIES.values(), ids=BODIES)
def test_nothing_holds_that_nothing_exercised(asked, body, may_hold):
    """Of an answer that does nothing or raises at once no property holds but that its calls end."""
    report = run_check(asked, answer(registry.find(asked), body), databases=("sqlite",))
    assert BROKEN == report.verdict
    assert {one.name for one in report.properties if one.verdict == HOLDS} <= may_hold


ASKS = "while True:\n        with engine.begin() as connection:\n            connection.exec_driver_sql('SELECT count(*) FROM tasks')"
ENDLESS = {  # calls out again and again, and never comes to what was asked
    "retry": "while True:\n        clock.sleep(1)",
    "idempotency": "while store.get(task_id):\n        pass",
    "deadline": "while True:\n        clock.sleep(1)",
    "resume": "while store.get(task_id):\n        pass",
    "claim": ASKS,
    "lease": ASKS,
    "backpressure": ASKS,
    "saga": "while True:\n        log.append(event='waits')",
    "deploy_saga": "while True:\n        cloud.check_disk(app)",
}


@pytest.mark.parametrize(("asked", "body"), ENDLESS.items(), ids=ENDLESS)
def test_nothing_holds_of_an_endless_answer(asked, body):
    """Of an answer that never comes to an end no property holds."""
    report = run_check(asked, answer(registry.find(asked), body), databases=("sqlite",))
    assert ("ends", BROKEN) in [(one.name, one.verdict) for one in report.properties]
    assert [] == [one.name for one in report.properties if one.verdict == HOLDS]


@pytest.mark.parametrize("asked", registry.IDS)
def test_error_of_its_own_is_told_once(asked):
    """A misspelt name is told once for each line that it stands in, with that line, and no likely cause is made up."""
    exercise = registry.find(asked)
    report = run_check(asked, answer(exercise, "return no_such_name"), databases=("sqlite",))
    broken = [one for one in report.properties if one.verdict == BROKEN]
    assert {OWN_ERROR} == {one.diagnosis for one in broken}
    lines = [f"(line {3 * number + 2} of the answer)" for number in range(len(exercise.signatures))]
    said = "your code raised NameError: name 'no_such_name' is not defined"
    assert {f"{said} {line}" for line in lines} == {one.message for one in broken}
    assert len(lines) == len(broken)
    assert {NOT_EXERCISED} == {one.verdict for one in report.properties if one not in broken}


SWALLOWED = """
from labkit import RetriesExhausted
def execute_with_retry(fn, max_attempts, clock):
    for attempt in range(max_attempts):
        try:
            return fm()
        except Exception as error:
            last = error
    raise RetriesExhausted(attempts=max_attempts) from last
"""


def test_error_of_its_own_behind_another():
    """It is found also where the answer's own `except` has made another error of it."""
    report = run_check("retry", SWALLOWED)
    assert "your code raised NameError: name 'fm' is not defined (line 6 of the answer)" == report.first_broken.message
