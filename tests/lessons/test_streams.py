"""The lesson on progress: each broken way still breaks where the lesson says, and the library's holds in the same place."""

from itertools import pairwise

import pytest

from labkit.faults import run_once, sweep
from labkit.lessons import streams, streams_ends, streams_quiet, streams_slow, streams_wire
from labkit.lessons import streams_errors as lesson
from labkit.server.sse import COMMENT, encode

WHY = {  # error -> how it breaks
    "progress in memory only": "the page shows: nothing, for ever",
    "an end on the happy path only": "nothing: it waits for ever",
    "no id is sent": "1 2 3 | 1 2 3 4 5 6 | 1 2 3 4 5 6 end",
    "only what comes from now on": "1 2 3 | 5 6 | | |",
    "each connection counts anew": "1 2 3 | 4 5 6 | 4 5 6 end",
    "the event after the state": "completed, and no event says so",
    "the event before the state": "running, and the page has seen the end",
    "a queue for each reader": "90 events are held for one reader",
}


def test_every_error_is_named():
    """The tests below leave none out."""
    assert list(WHY) == [one.name for one in lesson.ERRORS]


@pytest.mark.parametrize("error", lesson.ERRORS, ids=lambda one: one.name)
def test_broken_ways_break(error):
    """Under the trouble that belongs to each, which strikes."""
    trace = run_once(error.first, error.schedule)
    assert (WHY[error.name], []) == (
        trace.broken,
        [line for line in trace.lines if line.label == "crossing not reached"],
    )


@pytest.mark.parametrize("error", lesson.ERRORS, ids=lambda one: one.name)
def test_the_librarys_ways_survive_the_same(error):
    """The same page, the same tunnel, the same slow reader, any crash around the end."""
    assert None is lesson.why(error, sound=True)


@pytest.mark.parametrize("finish", [streams_ends.state_first, streams_ends.event_first, streams_ends.one_commit])
def test_undisturbed_every_end_holds(finish):
    """Without a crash nothing is wrong with any of them."""
    assert None is run_once(streams_ends.dying(finish)).broken


def test_one_commit_closes():
    """Any number of crashes around the end, and never a state without its event."""
    assert sweep(streams_ends.dying(streams_ends.one_commit)).or_raise().closure.closed


def test_the_impatient_user():
    """In front of a silent task Cancel comes at 25 s; one that tells is waited for."""
    silent, tells = lesson.symptom().rows
    assert ("Cancel", "cancelled", "6 of 6", "completed") == (silent[6].text, silent[7].text, tells[6], tells[7].text)


def test_a_late_page():
    """The callback is right for who was there from the beginning; the log for everybody."""
    verdicts = [[cell.verdict for cell in row[1:]] for row in lesson.visits().rows]
    assert [["holds", "holds"], ["broken", "holds"], ["broken", "holds"]] == verdicts


def test_every_end_has_a_last_event():
    """The handler says it on one path of four, the queue on each."""
    rows = lesson.last_words().rows
    assert ["completed", *[WHY["an end on the happy path only"]] * 3] == [row[1].text for row in rows]
    assert ["completed", "error", "error", "error"] == [row[2].text for row in rows]


def test_silence():
    """Without heartbeats the proxy cuts again and again; with them never, and the page has the same in the end."""
    mute, beats = streams_quiet.quiet(streams_quiet.NEVER), streams_quiet.quiet(streams_quiet.BEAT_SECONDS)
    assert (5, 1) == (len(mute.connections), len(beats.connections))
    assert ["step", "step", "end"] == mute.shown == beats.shown
    times = [time for time, _ in beats.connections[0].came]
    assert max(later - time for time, later in pairwise(times)) <= 15
    assert mute.page.last_id == beats.page.last_id == "3"


def test_slow_readers():
    """Held, dropped, waited for; a position costs nobody anything."""
    designs = (streams_slow.queue_each, streams_slow.drops, streams_slow.waits, streams_slow.position)
    found = [run_once(streams_slow.slow(one)).broken for one in designs]
    assert [
        WHY["a queue for each reader"], "it never has 70 of 100 events", "the worker waits for it 80 times", None
    ] == found  # fmt: skip


def test_the_wire():
    """An event is there with its empty line, and not before; equal streams give equal bytes."""
    now = streams.work()
    now.tell(1)
    frame = encode(*now.log.after(now.task_id)[0])
    drawn = streams_wire.wire(COMMENT, frame[:40], frame[40:-1], frame[-1:])
    assert ["nothing yet"] * 3 == [told for _, told in drawn.rows[:3]]
    assert drawn.rows[3][1].startswith("event 1: <ProgressUpdate task-1 1/6 thinking>")
    assert "an empty line" in drawn._repr_html_()
    assert "&lt;script&gt;" in streams_wire.Wire((("<script>\n", "<b>"),))._repr_html_()


def test_the_bar():
    """A widget where there is one, markup and text everywhere, and red when it ends badly."""
    now, bar = streams.work(), streams_wire.Bar()
    shown = bar.show()
    assert {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"} <= set(shown)
    for step in (1, 2, 3):
        bar.feed(now.tell(step))
    assert "[############............] 3 of 6: tool_result check_disk sda1 is 95% full" == repr(bar)
    assert (3, 6, "") == (bar.widget.value, bar.widget.max, bar.widget.bar_style)
    now.queue.cancel(now.task_id, "the user")
    bar.feed(now.log.after(now.task_id)[-1][1])
    assert "lk-red" in bar._repr_html_()
    assert "danger" == bar.widget.bar_style
