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

# some read alike when nothing stands between the two: t1 + 2route and t12 + route, or the other way round routet + 1 and route + t1
STEPS: Steps = (("t1", "container"), ("t1", "route"), ("t2", "container"), ("t12", "route"), ("t1", "2route"), ("1", "routet"))


def _case(steps: Steps) -> Case:
    """Ask for each key, and once more in a process that knows nothing of the first."""

    def play(answer: Answer, process: Process) -> Any:
        return [[answer.fresh()["effect_key"](*step) for step in steps] for _ in range(2)]

    return Case("keys", lambda answer: [partial(play, answer)], facts={"steps": steps})


def _drawn(rng: Random) -> tuple[Case, ...]:
    """Other tasks and steps, of which some read alike in the same ways."""
    word, other, step, another = words(rng, 4)
    number = str(rng.randrange(20, 1000))
    task = f"{word}{number}"
    return (_case(((task, step), (task, another), (other, step), (f"{task}3", another), (task, f"3{another}"), (number, another + word))),)


NOTHING_BETWEEN = "nothing stands between the task and the step, so that two pairs read alike"


def _distinct(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.end.last.how != "returned":
        return Finding(f"the call {seen.end.last}", "fails on its own")
    steps, (keys, again) = facts["steps"], seen.end.last.value
    if not all(isinstance(key, str) and key for key in keys):
        return Finding(f"a key must be a text; the keys are {keys}", "returns no text")
    alike = next(((a, b) for a, b in combinations(range(len(steps)), 2) if keys[a] == keys[b]), None)
    if alike is not None:
        first, second = (steps[number] for number in alike)
        joined = "".join(first) == "".join(second) or "".join(reversed(first)) == "".join(reversed(second))
        said = f"step {first[1]} of {first[0]} and step {second[1]} of {second[0]} got one key, {keys[alike[0]]!r}"
        return Finding(said, NOTHING_BETWEEN if joined else "the key leaves out the task or the step")
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
    cases=(_case(STEPS),),
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
