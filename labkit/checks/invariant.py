"""The exercise `invariant`: a test for runs, and runs to test it on: fine ones that look odd, and broken ones that look fine.

A run is data, so nothing crosses a boundary here. Each case is a list of runs that show one thing; each is shown to a fresh answer, as a copy of its own.
What is drawn into the record is the first run of the case of which the wrong thing was said.

Not handled here: how the runs came about (see `labkit.invariants`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from labkit.checks import invariant_rules as rules
from labkit.checks.common import ends, exits_rule, outcome_of, try_exits
from labkit.checks.drawn import invariant as drawn
from labkit.checks.exercise import Answer, Case, Exercise, Property
from labkit.checks.invariant_row import Row
from labkit.checks.invariant_rows import BROKEN, FINE
from labkit.faults.process import Process
from labkit.faults.scenario import Body
from labkit.invariants.rules import RULES
from labkit.invariants.trace import Trace

NAME, CLIENT = "invariant", "client"
READ = ("__dict__", "__copy__", "__deepcopy__", "__getstate__", "__reduce_ex__", "copy")  # the ways to read a whole object
_leaves: list[Callable[[], NoReturn]] = []  # while this holds one, a `_Leaving` trace raises when it is read


class _Leaving(Trace):
    def __getattribute__(self, name: str) -> Any:
        if _leaves and (name in READ or not name.startswith("_")):
            _leaves[0]()
        return super().__getattribute__(name)


def _exits(answer: Answer) -> list[Body]:
    """Call with a run out of which nothing but an exit comes, once for each kind of exit."""

    def reading(leave: Callable[..., NoReturn]) -> Any:
        invariant, trace = answer.fresh()[NAME], _Leaving()
        _leaves.append(leave)
        try:
            return invariant(trace)
        finally:
            _leaves.clear()

    return [lambda process: try_exits(reading)]


def _ask(invariant: Callable[[Trace], Any], row: Row) -> dict[str, Any]:
    """What is said of a run, and what of it is another afterwards ("" for nothing)."""
    trace, before = row.trace.copy(), row.trace
    ended = outcome_of(lambda: invariant(trace))
    try:
        parts = [name for name in ("tasks", "events") if getattr(trace, name) != getattr(before, name)]
        order = list(trace.tasks) == list(before.tasks)
    except Exception:  # whatever the answer has put there
        parts, order = [], False
    return {"ended": ended, "changed": (parts or ([] if order else ["tasks"]) or [""])[0]}


def _case(name: str, rows: Sequence[Row], *, afresh: bool = True) -> Case:
    def build(answer: Answer) -> list[Body]:
        def play(process: Process) -> Any:
            kept = answer.fresh()[NAME]
            told = [_ask(answer.fresh()[NAME] if afresh else kept, row) for row in rows]
            _draw(process, rows, told)
            return told

        return [play]

    return Case(name, build, facts={"rows": rows})


def _draw(process: Process, rows: Sequence[Row], told: Sequence[dict[str, Any]]) -> None:
    """Note the first run of which the wrong thing was said, event by event, each in the lane of its worker."""
    wrong = (place for place, came in enumerate(told) if rules.off(rows[place], came["ended"]))
    place = next(wrong, 0)
    row = rows[place]
    process.note("run", f"{row.run}: {row.says}")
    for event in row.trace.events:
        _note(process, event.worker or CLIENT, event.kind, " ".join(str(event).split()[1:]))
    for task in row.trace.tasks.values():
        _note(process, CLIENT, "at the end", f"{task.id} is {task.state}")
    process.note("your invariant says", rules.in_short(told[place]["ended"]))


def _note(process: Process, lane: str, label: str, text: str) -> None:
    """A note of somebody who took part in the run that is drawn."""
    process.gate.record.append(("note", lane, process.world.clock.elapsed, 0, "", "", label, "", text))


def _passes(name: str, claim: str, case: str) -> Property:
    """Nothing is said of these runs."""
    return Property(name, claim, rules.right, (case,), rules.passed, needs=SAYS)


def _catches(kind: str, claim: str, case: str) -> Property:
    """Something is said of each of these runs."""
    return Property(f"catches a {kind}", claim, rules.right, (case,), rules.flagged)


SAYS = "None or a sentence"
EVERY = {**FINE, **BROKEN}
CATCHES = {
    "lost": "what was submitted is over at the end",
    "doubled": "the outside world does a thing once for a task",
    "zombies": "whoever lost a task to another does not write it any more",
    "orders": "the step that was done last is undone first",
    "untold": "those who watch hear of each end",
    "told_twice": "and hear of it once",
}
PASSES = {  # property -> (what it claims, the case that shows it)
    "passes a calm run": ("nothing goes wrong, and nothing is said", "calm"),
    "passes a run without tasks": ("nothing was submitted", "nothing"),
    "passes tasks that are claimed again": ("a worker died, and another one went on", "reclaimed"),
    "passes writes that were fenced off": ("a zombie woke, was refused, and changed nothing", "fenced"),
    "passes failures": ("a task may fail, and so may an attempt", "failed"),
    "passes cancelled tasks": ("before anybody began, and under a worker", "cancelled"),
    "passes sagas that were taken back": ("all that was done is undone, from the last step on", "undone"),
    "passes undos that failed for good": ("what could not be undone stays, and the others go in their order", "stuck"),
    "tells tasks apart": ("what happens to one task is no business of another", "crowd"),
}
SEVERAL = tuple(rows[0] for rows in (*FINE.values(), *BROKEN.values(), *FINE.values()))

EXERCISE = Exercise(
    id=NAME,
    title="Test your tests",
    chapter=21,
    origin="+",
    minutes=45,
    difficulty=4,
    points=15,
    essential=tuple(f"catches a {kind}" for kind in RULES),
    signatures={NAME: ("trace",)},
    shown=("untold:none", "zombies:none"),
    cases=(
        *(_case(name, rows) for name, rows in EVERY.items()),
        _case("several", SEVERAL, afresh=False),
        Case("exits", _exits),
    ),
    drawn=lambda rng: [_case(name, rows) for name, rows in drawn.rows(rng).items()],
    properties=(
        *(_passes(name, *told) for name, told in PASSES.items()),
        *(_catches(kind, CATCHES[case], case) for kind, case in zip(RULES, BROKEN, strict=True)),
        Property(SAYS, "None when the run is fine, else one sentence", rules.in_words, tuple(EVERY), rules.flagged),
        Property("only looks", "the run is what it was before", rules.unchanged, tuple(EVERY), rules.passed, needs=SAYS),
        Property(
            "starts afresh",
            "calls do not see each other",
            rules.each_afresh,
            ("several",),
            rules.flagged,
            unless=(*(f"catches a {kind}" for kind in RULES), *PASSES),
        ),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "Write down what a customer may expect of any run, whatever goes wrong in it: six short sentences, each about one task. Then ask of each: in "
        "which sound run does it look broken? A task that was cancelled before anybody claimed it, and a write that was refused, are good places to look.",
        "One small function for each sentence, all over the events of one task. Group by `task_id` first. Of effects count the names, not the keys. For a "
        "write, remember the newest claim before it, worker and attempt. Ends are told in `progress`, under two names.",
        "For the undo, take the places at which the steps were done, in the order in which they were undone: they must fall. Steps that are missing there "
        "failed to be undone, and are no fault. A task is lost when `trace.tasks.get(task_id)` is None, or its state is not completed, failed or cancelled.",
    ),
)
