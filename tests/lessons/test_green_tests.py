"""The lesson on testing tests: the suite is green, each invariant cries wolf or is blind where the lesson says, and twins tell who was put to the test."""

from dataclasses import replace

import pytest

from labkit.faults.picture import text
from labkit.invariants import BROKEN, SOUND, STORIES, recorded
from labkit.invariants.rules import RULES, broken
from labkit.lessons import green_tests as lesson
from labkit.lessons import invariant_matrix as grid
from labkit.lessons import story_drawn
from labkit.task import TaskState

CATCHES = {  # invariant -> (false alarms, system -> stories in which it is caught)
    lesson.every_task_completed: (13, {"no_lease": 3}),
    lesson.every_task_ended: (0, {"no_lease": 6}),
    lesson.once_per_run: (7, {"no_key": 7}),
    lesson.once_per_task: (0, {"no_key": 10}),
}
TWINS = {lesson.every_task_ended: lesson.worker_gone, lesson.once_per_task: lesson.begun_again}


def cells(shown):
    """The words of a table below its headers, row by row."""
    return [[str(cell) for cell in row] for row in shown.rows]


def column(invariant, stories=STORIES):
    """system -> its cell under this invariant."""
    return {row[0]: row[2] for row in cells(grid.Matrix(stories).run(invariant)._table())}


def test_the_suite_is_green_and_the_ledger_is_not():
    """Each test passes, and only where nothing goes wrong is anybody charged once."""
    rows = cells(story_drawn.suite())
    assert {"✓ passed"} == {row[1] for row in rows}
    assert [
        ["test_calm", "✓ once"],
        ["test_shaky", "✕ twice"],
        ["test_crash", "✕ twice"],
        ["test_late", "✕ twice"],
    ] == [[row[0], row[2]] for row in rows]


def test_a_test_that_fails_and_a_charge_too_many_are_told(monkeypatch):
    """A run that is not completed is red, and more than two charges are counted."""
    monkeypatch.setattr(story_drawn, "SUITE", ("cancelled", "shaky_twice"))
    assert [
        ["test_cancelled", "✕ t-1 is cancelled at the end", "✓ once"],
        ["test_shaky_twice", "✓ passed", "✕ 3 times"],
    ] == cells(story_drawn.suite())


def test_the_sound_system_charges_once():
    """The same stories, with keys."""
    assert [1, 1, 1, 1] == [story_drawn.charges(recorded(SOUND.name, story)) for story in story_drawn.SUITE]


def test_the_picture_of_the_run():
    """Claims, a death, the doubled charge and the end are drawn; SQL, waits and who only looked in are not."""
    shown = story_drawn.drawn()
    assert ["client", "w1", "w2"] == shown.processes
    said = text(shown)
    places = [
        said.index(words)
        for words in ("claimed t-1 w1#1", "w1 crashed", "claimed t-1 w2#2", "done 2 times", "t-1 is completed")
    ]
    assert sorted(places) == places
    assert {"cloud"} == {line.boundary for line in shown.lines if line.kind == "cross"}
    assert [1, 1, 1, 1, 2, 2] == [line.number for line in shown.lines if line.kind == "cross"]


def test_any_run_can_be_drawn():
    """Also of the sound system, with a key at each call and nothing doubled."""
    said = text(story_drawn.drawn("sound", "crash"))
    assert "key t-1:charge" in said
    assert "times" not in said


@pytest.mark.parametrize("invariant", CATCHES, ids=lambda invariant: invariant.__name__)
def test_whom_an_invariant_catches(invariant):
    """So many false alarms on the sound system, so many runs caught of one other, and all of the rest missed."""
    alarms, caught = CATCHES[invariant]
    found = column(invariant)
    assert (f"✕ false alarm {alarms}/26" if alarms else "✓ quiet 26/26") == found.pop("sound")
    for system, said in found.items():
        there = sum(bool(broken(recorded(system, story.name))) for story in STORIES)
        assert (f"✓ caught {caught[system]}/{there}" if system in caught else f"– missed {there}/{there}") == said


def test_a_cancelled_task_is_a_false_alarm():
    """The run of the lesson: nothing was done for the task, its end was told, no rule is broken, and the suite's sentence complains."""
    trace = recorded("sound", "withdrawn")
    assert "t-1 is cancelled at the end" == lesson.every_task_completed(trace)
    assert (None, {}) == (lesson.every_task_ended(trace), broken(trace))
    assert ["submitted", "progress"] == [event.kind for event in trace.events if event.task_id == "t-1"]


def test_two_customers_are_a_false_alarm():
    """In a calm run three tasks pay, each once."""
    trace = recorded("sound", "calm")
    assert ("charge happened twice", None) == (lesson.once_per_run(trace), lesson.once_per_task(trace))


def test_what_drowns_in_false_alarms():
    """Where the sound system is complained of anyway, the broken one is not caught: two tasks pay in each of these."""
    missed = grid.breaks_in("no_key", STORIES) & grid.said_of(lesson.once_per_run, SOUND.name, STORIES)
    assert {"restart", "shaky", "crowd"} == missed
    for name in missed:
        paying = {event.task_id for event in recorded("sound", name).events if event.name == "charge"}
        assert len(paying) >= 2, name


def test_a_zombie_under_keys_doubles_nothing():
    """No fence, and the late worker writes: the customer pays once all the same."""
    trace = recorded("no_fence", "late")
    assert (["zombie write"], None) == (list(broken(trace)), lesson.once_per_task(trace))


def test_a_column_is_filled_again_under_its_name():
    """Who writes an invariant again sees the new one, and not both."""

    def mine(trace):
        return None

    matrix = grid.Matrix().run(mine)
    assert "✓ quiet 26/26" == cells(matrix._table())[0][2]

    def mine(trace):
        return ""  # no sentence, and not None either

    assert ["✕ false alarm 26/26"] == cells(matrix.run(mine)._table())[0][2:]
    assert "false alarm" in repr(matrix)
    assert "false alarm" in matrix._repr_html_()


def test_who_changes_a_run_changes_nobody_elses():
    """An invariant that empties what it is shown does not blind the next one."""

    def vandal(trace):
        trace.tasks.clear()

    found = cells(grid.Matrix().run(vandal, lesson.every_task_ended)._table())
    assert "✓ caught 6/6" == found[1][3]


def test_six_rules_catch_six_systems():
    """Quiet on the sound system; every rule catches its own; only `missing end` sees the lost tasks as well."""
    sound, *others = cells(grid.six())
    assert ["sound", *["✓ quiet"] * len(RULES)] == sound
    caught = {(row[0], kind) for row in others for kind, cell in zip(RULES, row[1:], strict=True) if cell != "–"}
    assert {(system.name, system.breaks) for system in BROKEN} | {("no_lease", "missing end")} == caught


def test_no_rule_of_the_six_is_superfluous():
    """A run that tells an end and loses the task is caught by the first alone, although no system does that."""
    trace = recorded("sound", "crash")
    trace.tasks["t-1"] = replace(trace.tasks["t-1"], state=TaskState.RUNNING)
    assert ["lost task"] == list(broken(trace))


def test_systems_and_their_lacks():
    """The cast of the lesson, the sound one first."""
    assert ["sound", "nothing"] == cells(grid.cast())[0]
    assert [[system.name, system.lacks] for system in BROKEN] == cells(grid.cast())[1:]


def test_strips_show_each_system_in_each_story():
    """Broken where its run is, holding elsewhere, and no system breaks in half of the stories."""
    strips = grid.by_story()
    assert [system.name for system in BROKEN] == [row.label for row in strips.rows]
    for row in strips.rows:
        assert len(STORIES) == len(row.cells)
        struck = {cell.token.split(".")[1] for cell in row.cells if cell.verdict == "broken"}
        assert grid.breaks_in(row.label, STORIES) == struck
        assert 0 < len(struck) < len(STORIES) / 2


def test_in_fair_weather_nobody_can_catch_four_of_six():
    """Without a crash and without a late worker, most systems are as good as the sound one."""
    found = column(lesson.every_task_ended, grid.FAIR)
    assert {"no_lease", "no_fence", "told_after", "told_before"} == {
        name for name, said in found.items() if said == "? nothing to catch"
    }
    assert "✓ caught 2/2" == column(lesson.once_per_task, grid.FAIR)["no_key"]


def test_what_no_twin_reached_is_not_exercised():
    """Of lost tasks a suite without a crash shows nothing; doubled effects it does put to the test."""
    assert [
        ["every task ended", "? not exercised, twin 0/14", "✓ holds, twin 10/26"],
        ["once per task", "✓ holds, twin 2/14", "✓ holds, twin 12/26"],
    ] == cells(grid.put_to_the_test(TWINS))


def test_what_is_broken_needs_no_twin():
    """A lost task is never claimed again, so its twin says no; and it is broken all the same."""
    (lost, _) = cells(grid.put_to_the_test(TWINS, "no_lease"))
    assert ["? not exercised, twin 0/14", "✕ broken 6/26"] == lost[1:]
    assert not lesson.worker_gone(recorded("no_lease", "crash"))


def test_twins_say_could_and_not_does():
    """Whatever doubles an effect has begun a task again; two sagas begin again and double nothing, as their log knows what was done."""
    begun = {story.name for story in STORIES if lesson.begun_again(recorded("no_key", story.name))}
    doubled = grid.breaks_in("no_key", STORIES)
    assert doubled < begun
    assert {"crash_in_saga", "crash_then_back"} == begun - doubled


def test_a_failed_attempt_is_no_worker_that_is_gone():
    """It was written before the task was claimed again."""
    trace = recorded("sound", "shaky")
    assert (False, True) == (lesson.worker_gone(trace), lesson.begun_again(trace))
