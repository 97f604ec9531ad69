"""Each way to take over breaks under the trouble that the lesson shows, the sound one does not, and agents share a state for real."""

import pytest

from labkit.faults import interleave, run_once, sweep
from labkit.lessons import shared_state as lesson
from labkit.lessons import shared_state_errors as errors
from labkit.lessons import shared_state_waits as waits
from labkit.lessons.shared_state_mcp import URI, Desk, shown
from labkit.lessons.states import one_crash


def windows(scenario):
    """How many stretches of broken places there are when the first agent dies once."""
    strip = "".join("X" if verdict == "broken" else "." for _, verdict, _ in one_crash(scenario))
    return len([stretch for stretch in strip.split(".") if stretch])


def test_from_the_top_everything_is_done_twice():
    """From the first effect on, wherever the first agent died."""
    assert 1 == windows(lesson.taken_over("top", lesson.starts_over))


def test_from_the_plan_there_is_a_window_per_step():
    """Effect done, record lost; and in it the key of the agent does not help."""
    assert 3 == windows(lesson.taken_over("plan"))


def test_the_key_of_the_task_closes_them():
    """However many agents die, each step is done once, and the state says so."""
    report = sweep(lesson.taken_over("key", key=lesson.task_key))
    assert ("holds", True) == (report.verdict, report.closure.closed)


@pytest.mark.parametrize(
    ("key", "write", "why"),
    [
        (lesson.own_key, lesson.patch_of_version, "deploy_container happened 2 times, not once"),
        (lesson.task_key, lesson.whole_state, "create_alert is forgotten"),
        (lesson.task_key, lesson.patch_of_version, None),
    ],
)
def test_two_that_are_alive(key, write, why):
    """With one step more from the user: what is done twice, or forgotten."""
    assert why == run_once(lesson.mid_step("both", key, write, alert=True)).broken


def test_what_is_seen_mid_step():
    """At minute eight the step that is under way is the next one of the plan."""
    trace = run_once(lesson.mid_step("both", lesson.task_key))
    (end,) = [line for line in trace.lines if line.kind == "end" and line.process == "p2"]
    assert (None, True) == (trace.broken, "saw version 2, next: deploy_container" in end.text)


def test_reading_before_subscribing_misses_news():
    """In some orders it waits for what has happened; subscribing first it never does."""
    report = interleave(waits.waiting(waits.reads_then_subscribes))
    assert "p2 waits for what has happened" == report.broken[0].why
    assert "holds" == interleave(waits.waiting(waits.subscribes_then_reads)).verdict


def test_the_table_of_errors():
    """Each row breaks as one writes it first, and holds as it should be."""
    rows = errors.errors().rows
    assert len(errors.ERRORS) == len(rows)
    assert [("broken", "holds")] * len(rows) == [(first.verdict, sound.verdict) for _, first, sound in rows]


def test_a_state_is_shared_for_real():
    """Over a server: one writes, the other is told, reads it, and is refused with what it had read before."""
    desk = Desk()
    try:
        first = second = desk.agent()  # the notebook has one process for each
        seen = second.read()
        assert ((URI,), ("apply_state_patch",)) == (second.list(), second.tools())
        news = second.subscribe()
        assert "version 2" == first.patch(expected=1, done="create_namespace", plan=("deploy_container",))
        assert URI == news.result(timeout=60)
        assert (2, ["deploy_container"]) == (second.read()["version"], second.read()["plan"])
        assert second.patch(expected=seen["version"], done="x").startswith("StaleState: version 1")
        assert "artifacts  none" in repr(shown(seen))
    finally:
        desk.close()
