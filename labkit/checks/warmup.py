"""The exercise `warmup`: two lines that everybody passes, to see how a check feels.

Not handled here: anything difficult.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from random import Random
from typing import Any

from labkit.checks.common import ends
from labkit.checks.drawn.words import words
from labkit.checks.exercise import Answer, Case, Exercise, Finding, Property, Seen
from labkit.faults.process import Process

Steps = tuple[tuple[str, str], ...]  # (task, step)

LONG = "deploy" * 12
# each after the first two reads like another one to somebody; the last two have one length and one CRC-32
STEPS: Steps = (
    ("t1", "container"), ("t1", "route"), ("t2", "container"), ("t12", "route"), ("t1", "2route"), ("1", "routet"), ("T1", "route"),
    ("route", "t1"), ("t1", "outer"), ("outer", "t1"), ("t1", f"{LONG}1{LONG}"), ("t1", f"{LONG}2{LONG}"), ("t1", "plumless"), ("t1", "buckeroo"),
)  # fmt: skip
MANY: Steps = tuple((f"order{task}", f"step{step}") for task in range(28) for step in range(24))  # one run, and an answer that logs each call is slow


def _case(steps: Steps) -> Case:
    """Ask for each key, and once more in a process that knows nothing of the first."""

    def play(answer: Answer, process: Process) -> Any:
        return [[answer.fresh()["effect_key"](*step) for step in steps] for _ in range(2)]

    return Case("keys", lambda answer: [partial(play, answer)], facts={"steps": steps})


def _many(steps: Steps) -> Case:
    """Ask for very many keys in one process."""

    def play(answer: Answer, process: Process) -> Any:
        effect_key = answer.fresh()["effect_key"]
        return [[effect_key(*step) for step in steps]] * 2

    return Case("many", lambda answer: [partial(play, answer)], facts={"steps": steps})


def _drawn(rng: Random) -> tuple[Case, ...]:
    """Other tasks and steps, of which some read alike in the same ways."""
    word, other, step, another = words(rng, 4)
    number = str(rng.randrange(20, 1000))
    task = f"{word}{number}"
    joined = ((task, step), (task, another), (other, step), (f"{task}3", another), (task, f"3{another}"), (number, another + word))
    return (_case((*joined, (step, task), (task, step.upper()), (task, step[::-1]))),)


LEAVES_OUT = "the key leaves out the task or the step"
NOTHING_BETWEEN = "nothing stands between the task and the step, so that two pairs read alike"
NO_ORDER = "the key does not say which of the two is the task: swapped they read alike"
NO_CASE = "capitals and small letters are taken for one"
A_PART = "only a part of the task or the step is in the key, such as its length or its beginning"
TOO_SHORT = "a digest that is too short: among many tasks and steps two get one key"


def _why_alike(first: tuple[str, str], second: tuple[str, str]) -> str:
    """What the key leaves out, by the two that it takes for one."""
    if first == second[::-1]:
        return NO_ORDER
    if "".join(first) == "".join(second) or "".join(reversed(first)) == "".join(reversed(second)):
        return NOTHING_BETWEEN
    if "".join(first).lower() == "".join(second).lower():
        return NO_CASE
    if (first, second) == STEPS[-2:] or first in MANY:
        return TOO_SHORT
    return A_PART if first[0] == second[0] and len(first[1]) == len(second[1]) else LEAVES_OUT


def _distinct(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.end.last.how != "returned":
        return Finding(f"the call {seen.end.last}", "fails on its own")
    steps, (keys, again) = facts["steps"], seen.end.last.value
    if not all(isinstance(key, str) and key for key in keys):
        return Finding(f"a key must be a text; the keys are {keys}", "returns no text")
    alike = next(((a, b) for a, b in combinations(range(len(steps)), 2) if keys[a] == keys[b]), None)
    if alike is not None:
        first, second = (steps[number] for number in alike)
        said = f"step {first[1]} of {first[0]} and step {second[1]} of {second[0]} got one key, {keys[alike[0]]!r}"
        return Finding(said, _why_alike(first, second))
    if keys != again:
        return Finding(
            "asked again after a restart, the same step got another key",
            "another key each time: a restart would not know it",
        )
    return None


EXERCISE = Exercise(
    id="warmup",
    title="A key for an effect",
    chapter=0,
    origin="+",
    minutes=2,
    difficulty=1,
    points=1,
    signatures={"effect_key": ("task_id", "step")},
    cases=(_case(STEPS), _many(MANY)),
    drawn=_drawn,
    properties=(
        Property(
            "one key for one step",
            "tasks and steps named in letters and digits: each step of each task has a key of its own, in every process the same",
            _distinct,
        ),
        ends(),
    ),
    hints=("Put the task and the step into one text.", "An f-string will do.", 'return f"{task_id}:{step}"'),
)
