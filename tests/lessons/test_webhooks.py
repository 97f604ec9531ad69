"""The lesson on events and webhooks: each broken way still breaks where the lesson says, and the library's holds in the same place."""

import pytest

from labkit.faults import run_once
from labkit.lessons import buses, buses_bounds, buses_inside
from labkit.lessons import webhooks as lesson
from labkit.lessons import webhooks_names as names
from labkit.lessons import webhooks_runs as runs
from labkit.lessons.webhooks_world import told

TWO_MAILS, NEVER = "the customer got 2 mails for one end", "completed, and the customer is never told"
WHY = {
    "sent before the end is stored": TWO_MAILS,
    "sent after the end is stored": NEVER,
    "recorded, then sent": NEVER,
    "an id for each attempt": TWO_MAILS,
    "a body for each attempt": "2 bodies under one id",
    "redirects are followed": "169.254.169.254 was contacted",
}
WAYS = [lesson.before_the_end, lesson.after_the_end, lesson.recorded_first, lesson.id_per_attempt, lesson.body_per_attempt,
        lesson.follows, lesson.durable]  # fmt: skip
DAYS = {
    buses.one_thread: "the monitor hears of an event 60 s late",
    buses.thread_per_event: "the mails leave in the order t-2, t-3, t-1",
    buses.library: None,
}


def notes(trace):
    """Places of faults that were not met."""
    return [line for line in trace.lines if line.label in ("crossing not reached", "something else stands there")]


def column(table, index):
    """One column of a table, as verdicts and words."""
    return [(row[index].verdict, row[index].text) for row in table.rows]


def test_every_broken_way_is_named():
    """The tests below leave none out."""
    assert WHY.keys() == lesson.BROKEN.keys()


@pytest.mark.parametrize("name", WHY)
def test_broken_ways_break(name):
    """On the schedule that belongs to each, all of whose faults strike."""
    trace = run_once(*lesson.BROKEN[name])
    assert (WHY[name], []) == (trace.broken, notes(trace))


@pytest.mark.parametrize("name", WHY)
def test_the_librarys_way_survives_the_same(name):
    """The same trouble at the same request."""
    scenario, schedule = lesson.BROKEN[name]
    trace = run_once(runs.sound_for(scenario), schedule)
    assert (None, []) == (trace.broken, notes(trace))


@pytest.mark.parametrize("way", WAYS)
def test_undisturbed_every_way_tells_once(way):
    """Nothing but the trouble breaks them."""
    assert run_once(told(way), "none").broken is None


def test_one_crash_anywhere():
    """Wherever it comes, the library's way holds; the other two break on their side of the end."""
    signs = [
        "".join("X" if cell.verdict == "broken" else "." for cell in row.cells)
        for row in runs.crashes(lesson.before_the_end, lesson.after_the_end, lesson.durable).rows
    ]
    assert ["." * 11 + "X" * 8 + "." * 5, "." * 17 + "XX.", "." * 62] == signs


def test_attempts():
    """A crash behind the receipt: the same id and bytes two minutes later; a redirect is asked once, or led inside."""
    first, again = runs.attempts(told(lesson.durable), lesson.SENT_AND_DEAD).rows
    assert ("0 s", "p1", "120 s", "p2", first[2:4], "the same again") == (*first[:2], *again[:2], again[2:4], again[4])
    away = runs.attempts(told(lesson.durable, statuses=(503, 500)), "none").rows
    assert (3, 1) == (len(away), len({row[2:4] for row in away}))
    anew = runs.attempts(told(lesson.body_per_attempt), lesson.UNHEARD).rows
    assert (anew[0][2], True) == (anew[1][2], anew[0][3] != anew[1][3])
    assert [1, 2] == [len(runs.attempts(lesson.redirected(way), "none").rows) for way in (lesson.durable, lesson.follows)]


def test_signatures():
    """Only what was sent as it was is genuine."""
    assert [("holds", "genuine"), *[("holds", "refused")] * 4] == column(runs.signatures(), 1)


@pytest.mark.parametrize("makes", DAYS, ids=lambda makes: makes.__name__)
def test_a_slow_handler(makes):
    """One thread makes the monitor wait, a thread for each event loses the order, the library's bus does neither."""
    assert DAYS[makes] == run_once(buses.day(makes), "none").broken


def test_a_failing_handler():
    """Called by the work, it fails the work, which is done again; called by the bus, it hurts nobody."""
    broken = run_once(buses_inside.worked(buses_inside.inside), "none").broken
    assert "failed: 2 mails, and the monitor heard nothing" == broken
    assert run_once(buses_inside.worked(buses_inside.library), "none").broken is None


def test_standing_still():
    """With a bound the rest is lost and counted; without one everything waits."""
    assert ["t-1", "t-2", "t-3", "5 lost"] == buses_bounds.stands_still(buses_bounds.BOUND)[1:]
    no_bound, bound = buses_bounds.bounds(1, 3).rows
    assert (["8", "24"], ["3", "3"]) == ([mark.text for mark in no_bound[1:]], [mark.text for mark in bound[1:]])


def test_names_that_lead_inside():
    """By its name six of them get through or half through; by where it leads, none does and the customer is reached."""
    by_name, by_address = ([verdict for verdict, _ in column(names.names(), index)] for index in (2, 3))
    assert (6, 0) == (by_name.count("broken"), by_address.count("broken"))
    assert ["refused"] * 7 == [text for _, text in column(names.names(), 3)][1:]


def test_a_name_that_changes_its_mind():
    """Looked up twice it leads inside, looked up once it leads where it was checked."""
    answers = ((names.PUBLIC,), ("127.0.0.1",))
    found = [names.contacted(sends, "turncoat.example", *answers) for sends in (names.asks_twice, names.pinned)]
    assert ["127.0.0.1", names.PUBLIC] == found


def test_dripping():
    """A limit for each byte is none; one for all of them holds."""
    assert names.lasts(names.limit_per_byte) > 3_600
    assert 10.0 == names.lasts(names.limit_in_all)


def test_every_error():
    """The table of all errors: each is red on the left and holds on the right."""
    shown = runs.errors()
    assert {"broken"} == {verdict for verdict, _ in column(shown, 1)}
    assert {"holds"} == {verdict for verdict, _ in column(shown, 2)}


def test_the_lanes_of_a_retry():
    """Two requests by two processes, both under one id and with the same bytes; the second is nothing new to the customer."""
    trace = runs.lanes(told(lesson.durable), lesson.SENT_AND_DEAD)
    effects = [(line.process, line.label, line.text) for line in trace.lines if line.kind == "effect"]
    assert 2 == len(effects)
    assert [("p1", ""), ("p2", " again")] == [(process, text[6:]) for process, _, text in effects]
    assert 1 == len({(label, text[:6]) for _, label, text in effects})
    assert {"http", "clock", "sql"} == {line.boundary for line in trace.lines if line.kind == "cross"}
    assert {"INSERT webhook_deliveries", "UPDATE webhook_deliveries"} == {line.label for line in trace.lines if line.boundary == "sql"}
    drawn = trace._repr_mimebundle_()
    assert "record lost" in drawn["text/plain"]
    assert drawn == runs.lanes(told(lesson.durable), lesson.SENT_AND_DEAD)._repr_mimebundle_()
