"""The exercise `warmup`: two lines that everybody passes, to see how a check feels.

Not handled here: anything difficult.
"""

from __future__ import annotations

from typing import Any

from labkit.checks.common import crash_rule, ends
from labkit.checks.exercise import Answer, Case, Exercise, Finding, Property, Seen

_ = (crash_rule, Answer)


def _build(answer: Answer) -> list[Any]:
    return [lambda process: [answer.fresh()["effect_key"](task, step) for task, step in (("t1", "container"), ("t1", "route"), ("t2", "container"))]]


def _distinct(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    keys = seen.end.last.value
    if seen.end.last.how != "returned" or not all(isinstance(key, str) and key for key in keys):
        return Finding(f"a key must be a text; the call {seen.end.last}", "returns no text")
    if len(set(keys)) < len(keys):
        return Finding(f"two different steps got one key: {keys}", "the key leaves out the task or the step")
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
    cases=(Case("keys", _build),),
    properties=(Property("one key for one step", "each step of each task has a key of its own", _distinct), ends()),
    hints=("Put the task and the step into one text.", "An f-string will do.", 'return f"{task_id}:{step}"'),
)
