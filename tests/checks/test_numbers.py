"""What is compared is told: both numbers stand in the message, and the replay shows where they come from."""

import re

import pytest

from labkit.checks.replay import run_replay
from labkit.checks.run import run_check
from tests.corpus import ANSWERS

TOLD = {  # a wrong answer of backoff, a property, and what its message says
    "one seed": ("own_seed", "drawn from rng", r"seed 7 gave ([\d.]+) s for attempt 0, and again seed 7, in a new generator, ([\d.]+) s"),
    "two seeds": ("no_jitter", "drawn from rng", r"seed 7 and seed 8 gave the same waits: (1), (2), 4, 8, 16, 32, 60, 60 s"),
    "sooner": ("ignores_retry_after", "retry_after is a floor", r"retry_after=(1), window 0 to 30 s: of 1000 waits the shortest was ([\d.]+) s"),
    "without jitter": ("floor_without_jitter", "retry_after is a floor", r"retry_after=1, window 0 to 30 s: (1000) of 1000 waits were (1) s"),
    "uneven": ("bell_shaped", "full jitter", r"(\d+) of 1000 between .*, and of even ones some (250)"),
    "negative": ("negative_passes_above_a_floor", "refuses a negative attempt", r"attempt=(-1) with a (retry_after) is no ValueError"),
}


@pytest.mark.parametrize(("answer", "name", "said"), TOLD.values(), ids=TOLD)
def test_both_numbers_are_told(answer, name, said):
    """Whoever reads the message sees what was compared with what."""
    report = run_check("backoff", (ANSWERS / f"backoff/wrong/{answer}.py").read_text())
    message = next(one.message for one in report.properties if one.name == name)
    found = re.search(said, message)
    assert found, message
    assert found[1] != found[2]


@pytest.mark.parametrize(
    ("answer", "case", "labels"),
    [
        ("own_seed", "seeds", ["seed 7:", "seed 7:", "seed 8:"]),
        ("ignores_retry_after", "floors", ["retry_after=1:", "retry_after=10:", "retry_after=120:", "retry_after=100000:", "retry_after=0:"]),
        ("returns_none", "floors", ["retry_after=1:", "retry_after=10:", "retry_after=120:", "retry_after=100000:", "retry_after=0:"]),
    ],
)
def test_replay_shows_the_numbers(answer, case, labels):
    """Each row of waits is in the picture, also where the answer gave no numbers."""
    trace = run_replay(f"backoff.{case}/memory:none", (ANSWERS / f"backoff/wrong/{answer}.py").read_text())
    notes = {line.label: line.text for line in trace.lines if line.kind == "note"}
    assert labels == [line.label for line in trace.lines if line.kind == "note"]
    assert all(notes.values())
