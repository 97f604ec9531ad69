"""The exercise `patch`: a change of a state as a value, and a new state that has each thing once.

Pure functions cross no boundary, so there is nothing to crash at: each case is a few calls, with what a right answer makes of them written
down in `patch_cases`. Each call has a fresh answer, but where it is asked what one leaves for the next.

Not handled here: two writers with patches of their own (see `resume` and the store's versions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.agent.state import AgentState, StatePatch
from labkit.checks import patch_cases as cases
from labkit.checks import patch_lists as lists
from labkit.checks import patch_rules as rules
from labkit.checks.agent_values import each, is_model, leaving, told, why_odd
from labkit.checks.common import body, ends, exits_rule, outcome_of
from labkit.checks.drawn import patch as drawn
from labkit.checks.exercise import Case, Exercise, Property
from labkit.checks.patch_cases import Row
from labkit.faults.process import Process

NAME = "apply_patch"


def _copies(row: Row) -> tuple[AgentState, StatePatch]:
    """A state and a patch of this call's own: an answer that changes them changes nobody else's."""
    return row.state.model_copy(deep=True), row.patch.model_copy(deep=True)


def _apply(apply: Callable[..., Any], row: Row, process: Process) -> dict[str, Any]:
    """Apply a patch, and again to what came of it. `changed` tells which of them was another one afterwards; `again` is None for the same."""
    state, patch = _copies(row)
    made: list[Any] = []

    def call(old: Any) -> Any:
        made.append(apply(old, patch))
        return told(made[-1])

    process.note("patch", row.says)
    before = told(state), told(patch)
    ended = outcome_of(lambda: call(state))
    process.note("gives", rules.in_short(row, ended))
    sound = is_model(ended.get("value"), "AgentState") and not why_odd(ended["value"], rules.SECTIONS)
    again = outcome_of(lambda: call(made[0])) if sound else ended
    kept = [("the old state", before[0], told(state)), ("the patch", before[1], told(patch))]
    if sound:
        kept.append(("the old state", ended["value"], told(made[0])))
    changed = [one for one in kept if one[1] != one[2]]
    return {"ended": ended, "again": None if again == ended else again, "changed": changed}


def _leave(apply: Any, process: Process) -> Any:
    return leaving(lambda state: apply(state, StatePatch(facts=[cases.DISK], plan=[], risk_flags=["asks"])))


def _case(name: str, rows: Sequence[Row], *, afresh: bool = True) -> Case:
    return Case(name, each(NAME, _apply, rows, afresh=afresh), facts={"rows": rows})


ROWS: dict[str, Sequence[Row]] = {
    "whole": cases.WHOLE,
    "facts": cases.FACTS,
    "known": cases.KNOWN,
    "values": cases.VALUES,
    "apart": cases.APART,
    "plans": cases.PLANS,
    "asked": lists.ASKED,
    "answered": lists.ANSWERED,
    "artifacts": lists.MADE,
    "flags": lists.FLAGS,
    "many": cases.MANY,
}


PARTS = (
    "adds facts",
    "a new value beside the old",
    "a known fact once",
    "replaces the plan",
    "asks each question once",
    "closes what is answered",
    "each artifact once",
    "each flag once",
)


def _same(name: str, claim: str, *names: str, unless: tuple[str, ...] = ()) -> Property:
    """These cases give the states that are written down."""
    return Property(name, claim, rules.wanted_of_each, names, rules.applied, unless=unless)


EXERCISE = Exercise(
    id="patch",
    title="The same news twice",
    chapter=11,
    origin="C",
    minutes=20,
    difficulty=2,
    points=8,
    essential=("pure", "a known fact once", "a new value beside the old", "twice is once"),
    signatures={NAME: ("state", "patch")},
    shown=("facts:none",),
    cases=(
        *(_case(name, rows) for name, rows in ROWS.items()),
        _case("several", (*cases.VALUES, *cases.WHOLE, *cases.VALUES), afresh=False),
        Case("exits", body(NAME, _leave)),
    ),
    drawn=lambda rng: [_case(name, rows) for name, rows in drawn.rows(rng).items()],
    properties=(
        Property("pure", "the old state and the patch are what they were", rules.unchanged, tuple(ROWS), rules.applied),
        _same("adds facts", "new facts stand at the end, in the order of the patch", "facts"),
        _same("a new value beside the old", "a fact that differs in key or value stands beside it, newest last", "values", "apart", unless=PARTS[:1]),
        _same("a known fact once", "the same key and value is not doubled, whatever its source", "known", unless=PARTS[:1]),
        _same("replaces the plan", "an empty plan too, and None leaves the old one", "plans"),
        _same("asks each question once", "new questions stand at the end", "asked"),
        _same("closes what is answered", "also what was asked in the same patch", "answered"),
        _same("each artifact once", "by its artifact_id; the one that is there stays", "artifacts"),
        _same("each flag once", "new flags stand at the end", "flags"),
        Property("leaves the rest alone", "goal, constraints and budget are those of the old state", rules.rest_alone, tuple(ROWS), rules.applied),
        _same("all parts at once", "no part of a patch gets in the way of another", "whole", unless=PARTS),
        _same("long lists too", "hundreds of facts and questions", "many", unless=PARTS),
        Property(
            "twice is once",
            "a patch that comes again changes nothing more",
            rules.twice,
            tuple(ROWS),
            rules.applied,
        ),
        Property(
            "starts afresh",
            "calls do not see each other",
            rules.each_afresh,
            ("several",),
            rules.applied,
            unless=(*PARTS, "leaves the rest alone", "all parts at once"),
        ),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "A worker applies a patch, dies before it has said so, and the patch comes again. Which of the six lists would then hold something twice? What tells "
        "two facts apart, and what two artifacts?",
        "Never write into what you were given: build new lists and put them into a new state. One small helper does for facts, questions, artifacts and "
        "flags: the old items as they stand, then each new one whose key was not seen yet, the keys of this very patch included.",
        "`joined(old, new, key)` walks over `[*old, *new]` with a set of keys seen. Keys: `(f.key, f.value)`, the text itself, `a.artifact_id`. Then take "
        "the answered ones out of the joined questions, and the plan by `is not None`. `state.model_copy(deep=True, update={...})` keeps all the rest.",
    ),
)
