"""Checks with real kills: each process of a swept case is a child, and a crash is a SIGKILL that it gets."""

import pytest

from labkit.checks import kill, registry
from labkit.checks.answer import load
from labkit.checks.judge import BROKEN, HOLDS
from labkit.checks.kill import kills
from labkit.checks.listening import Patience
from labkit.checks.replay import run_replay
from labkit.checks.run import NURSERY, room, run_check
from labkit.faults.engines import open_world
from labkit.faults.kill import crash_points
from labkit.faults.runner import Runner
from tests.checkout import ROOT

pytestmark = pytest.mark.sampled

SOON = Patience(stall=2.0, total=30.0)


def answer(name):
    return (ROOT / f"tests/answers/{name}.py").read_text()


def killed(exercise, source, database="sqlite", patience=SOON):
    """What is said of the swept cases."""
    with room(database) as (url, folder):
        how = {"stall": patience.stall, "total": patience.total, "database": database, "url": url, "folder": folder}
        return list(kills(registry.find(exercise), NURSERY, source=source, **how))


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("asked", ["idempotency", "resume"])
def test_right_answer_holds(asked):
    """A right answer holds under real kills on both databases, and the certificate counts them."""
    report = run_check(asked, answer(f"{asked}/right/plain_function"), engine="kill")
    assert (HOLDS, ["sqlite", "postgres"]) == (report.verdict, report.databases), report.message
    assert " real kills; " in report.certificate
    assert "crash points" not in report.certificate


WRONG = {
    "idempotency": ("works_before_running_is_saved", "running is saved"),
    "resume": ("chapter_listing_has_no_key", "effect once"),
}


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize("asked", WRONG)
def test_wrong_answer_is_broken(asked, database):
    """A wrong answer is broken by a real kill, and the token shows the same without one."""
    name, broken = WRONG[asked]
    source = answer(f"{asked}/wrong/{name}")
    report = run_check(asked, source, databases=(database,), engine="kill")
    one = next(one for one in report.properties if one.name == broken)
    assert (BROKEN, BROKEN) == (report.verdict, one.verdict)
    assert one.token.startswith(f"{asked}.")
    assert f"/{database}:" in one.token
    assert "+crash" in one.token
    assert broken in [line.label for line in run_replay(one.token, source).lines if line.kind == "broken"]


def test_every_crossing_is_killed():
    """Each swept case is killed at each side of each crossing of its first process."""
    source, exercise = answer("retry/right/plain_loop"), registry.find("retry")
    swept = [case for case in exercise.cases if case.engine == "sweep"]
    said = killed("retry", source, "")
    with open_world("memory") as world:
        expected = [len(crash_points(Runner(c.scenario("retry", load(source, exercise)), world))) for c in swept]
    assert expected == [word["kills"] for word in said if "kills" in word]
    assert {"end", "left", "interrupted"} == {word["seen"] for word in said if "seen" in word}


BAD = "import os, time\ndef execute_with_retry(fn, max_attempts, clock):\n    "
SPEAK = "for n in range(3, 30):\n        try:\n            os.write(n, b'5\\n')\n        except OSError:\n            pass"
ENDS = {
    "leaves": ("os._exit(0)", "broke", "the process ended with status 0"),
    "kills itself": ("os.kill(os.getpid(), 9)", "broke", "the process ended with status -9"),
    "a mountain": ("return {str(n): 'x' * 1000 for n in range(3000)}", "broke", "more than anybody can look at"),
    "speaks for the host": (SPEAK, "broke", "it spoke for the host"),
    "forbidden": ("__import__('num' + 'py')", "forbidden", "the answer imports numpy"),
    "fails to load": ("pass\n1 / 0", "unusable", "ZeroDivisionError"),
}


@pytest.mark.parametrize(("body", "word", "why"), ENDS.values(), ids=ENDS)
def test_answer_that_breaks_its_child(body, word, why):
    """An answer is limited in each child, and what it does to one is the last that is told."""
    last = killed("retry", BAD + body, "")[-1]
    assert [word] == list(last)
    assert why in last[word]


def test_answer_that_does_not_end():
    """An answer that is silent in a child is given up."""
    with pytest.raises(TimeoutError):
        killed("retry", BAD + "while True:\n        pass", "", Patience(stall=0.5))


def test_error_of_ours_is_told(monkeypatch):
    """An error on the side where no answer runs is told as our own."""
    monkeypatch.setattr(kill, "_runs", lambda killer, case: [][0])
    assert {"failed": "IndexError: list index out of range"} == killed("retry", BAD + "pass", "")[-1]
