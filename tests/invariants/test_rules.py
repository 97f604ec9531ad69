"""The rules, the systems that break them, and the runs of the exercise: nothing is broken by accident, and nothing unsettled is judged."""

from random import Random

import pytest

from labkit.checks.drawn import invariant as drawn
from labkit.checks.invariant_rows import BROKEN, FINE, LOST, TOLD_TWICE, UNTOLD
from labkit.errors import UsageError
from labkit.invariants import BROKEN as SYSTEMS
from labkit.invariants import SOUND, STORIES, recorded, runs, systems
from labkit.invariants.rules import LAST_WORDS, RULES, broken

ROWS = [row for rows in (*FINE.values(), *BROKEN.values()) for row in rows]
DRAWN = [row for seed in range(12) for rows in drawn.rows(Random(seed)).values() for row in rows]
AFTER = "progress after the end"
WHOLE = {"no_lease": {LOST, UNTOLD}}  # nobody hears of the end of what never ends


def test_the_sound_system_breaks_nothing():
    """In no story the sound system breaks a rule."""
    assert {} == {story.name: said for story, trace in zip(STORIES, runs(SOUND), strict=True) if (said := broken(trace))}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_each_system_breaks_in_its_own_way(system):
    """What was taken away breaks what it is said to break, in some stories and not in all, and nothing else."""
    found = [set(broken(trace)) for trace in runs(system)]
    assert WHOLE.get(system.name, {system.breaks}) == set().union(*found)
    assert set() in found


def test_each_kind_has_its_system():
    """Each kind of broken run comes of one system."""
    assert list(RULES) == [system.breaks for system in SYSTEMS]
    assert (SOUND, *SYSTEMS) == systems()


@pytest.mark.parametrize("rows", [ROWS, DRAWN], ids=["fixed", "drawn"])
def test_rows_are_what_they_are_said_to_be(rows):
    """By the rules each run of the exercise is fine, or broken in the one way that it is there for (and perhaps nobody hears of an end)."""
    for row in rows:
        kinds = set(broken(row.trace)) - ({UNTOLD} if row.breaks in (LOST, TOLD_TWICE) else set())
        assert ({row.breaks} if row.breaks else set()) == kinds, row.says
        assert row.says


def unsettled(trace):
    """What of a run nothing settles: whether it is right, and whether it is wrong."""
    over, claimed, done, undone = set(), set(), set(), set()
    attempts = {}
    for event in trace.events:
        step = (event.task_id, event.name)
        if event.kind == "claimed":
            claimed.add(event.task_id)
            if attempts.setdefault((event.task_id, event.attempt), event.worker) != event.worker:
                yield "two claims of one attempt"
        if event.kind == "written" and event.task_id not in claimed:
            yield "a write to what nobody claimed"
        if event.kind == "done":
            done.add(step)
        if event.kind == "undone":
            if step in undone or step not in done:
                yield "a step undone twice, or that was never done"
            undone.add(step)
        if event.kind == "progress" and event.name not in LAST_WORDS and event.task_id in over:
            yield AFTER
        if event.kind == "progress" and event.name in LAST_WORDS:
            over.add(event.task_id)
    for task in trace.tasks.values():
        effects = [event for event in trace.events if event.kind == "effect" and event.task_id == task.id]
        if task.state == "completed" and not effects:
            yield "done without an effect"
    if trace.tasks.keys() - {event.task_id for event in trace.events if event.kind == "submitted"}:
        yield "a task that nobody submitted"


@pytest.mark.parametrize("rows", [ROWS, DRAWN], ids=["fixed", "drawn"])
def test_nothing_unsettled_is_judged(rows):
    """No run of the exercise holds what its text does not settle; where an end is told twice, something may be told in between."""
    found = {row.run: set(unsettled(row.trace)) - ({AFTER} if row.breaks == TOLD_TWICE else set()) for row in rows}
    assert {} == {run: what for run, what in found.items() if what}


def test_effects_after_the_end_are_nobodys_fault():
    """No fine run has an effect, or a step, of a task whose end was told."""
    for row in (row for rows in FINE.values() for row in rows):
        ended = set()
        for event in row.trace.events:
            assert event.task_id not in ended or event.kind == "refused"
            ended |= {event.task_id} if event.kind == "progress" and event.name in LAST_WORDS else set()


def test_drawn_rows_share_no_name_with_the_fixed_ones():
    """Nothing that is drawn can be known from the fixed runs."""
    known = {name for row in ROWS for event in row.trace.events for name in (event.task_id, event.worker, event.key)} - {""}
    assert set() == known & {name for row in DRAWN for event in row.trace.events for name in (event.task_id, event.worker, event.key)}


def test_unknown_run():
    """A run that nobody recorded is refused by its name."""
    with pytest.raises(UsageError, match=r"there is no run sound\.nonsense"):
        recorded("sound", "nonsense")
