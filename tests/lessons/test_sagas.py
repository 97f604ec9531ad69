"""The lesson on sagas: each broken saga still breaks where the lesson says, and the library's holds in the same place."""

from functools import cache

import pytest

from labkit.faults import run_once, sweep
from labkit.lessons import sagas as lesson
from labkit.lessons import sagas_late as late
from labkit.lessons import sagas_runs as runs
from labkit.lessons.sagas_graph import next_only, reachable
from labkit.lessons.sagas_world import Tombstones, timed

WHY = {  # broken saga -> what the caller hears, and what there is
    "the undo in forward order": "failed, and there is: container",
    "a list in memory": "completed, and there is: container, dns_record, alert",
    "a list in memory, and no keys": "failed, and there is: container",
    "a log of what is done": "failed, and there is: container, route",
    "a lost answer taken for a no": "remains: container, and there is: container, route",
    "an undo that fails stops the others": "TerminalError, and there is: container, route, dns_record",
    "an undo that fails is not told": "failed, and there is: dns_record",
    "one deadline for both ways": "failed, and there is: container, route",
    "an undo that overtakes its action": "failed, and there is: container",
}
WAYS = [
    lesson.forward_order,
    lesson.without_keys,
    lesson.in_memory,
    lesson.only_done,
    lesson.lost_is_failed,
    lesson.stops,
    lesson.durable,
]
BROKEN = {**lesson.BROKEN, **late.BROKEN}


@cache
def swept(scenario_of, way):
    """The sweep of a way, made once: most tests look at the same two."""
    return sweep(scenario_of(way))


def signs(found):
    """The verdicts of runs in a line."""
    return "".join("X" if verdict == "broken" else "." for _, verdict, _ in found)


def grid(table):
    """The verdicts of a table, row by row."""
    return [
        "".join("X" if mark.verdict == "broken" else "." for mark in row if hasattr(mark, "verdict"))
        for row in table.rows
    ]


def texts(table):
    """The words of a table."""
    return [[getattr(cell, "text", cell) for cell in row] for row in table.rows]


def test_every_broken_saga_is_named():
    """The tests below leave none out."""
    assert WHY.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", WHY)
def test_broken_sagas_break(name):
    """On the schedule that belongs to each, all of whose faults strike."""
    end, _, why = runs.end_of(*BROKEN[name])
    assert (WHY[name], ()) == (why, end.unreached + end.moved)


@pytest.mark.parametrize("name", lesson.BROKEN)
def test_the_librarys_saga_survives_the_same(name):
    """The same far side and the same schedule; what cannot be undone is told."""
    scenario, schedule = lesson.BROKEN[name]
    far_side = scenario.run.keywords["far_side"]
    end, is_there, why = runs.end_of(lesson.deployment(lesson.durable, far_side), schedule)
    assert why is None, why
    assert () == end.unreached + end.moved
    assert (
        ("remains: dns_record", "dns_record") == (end.last.value, is_there)
        or "nothing" == is_there
        or "completed" == end.last.value
    )


@pytest.mark.parametrize("way", WAYS)
def test_undisturbed_every_saga_completes(way):
    """Nothing but the trouble breaks them."""
    end, is_there, why = runs.end_of(lesson.deployment(way), "none")
    assert ("completed", "container, route, dns_record, alert", None) == (end.last.value, is_there, why)


def test_the_cloud_before_during_and_after():
    """In forward order the container is refused and stays, in reverse nothing does."""
    forward, reverse = zip(
        *(row[1:] for row in texts(runs.cloud_by_moment(lesson.forward_order, lesson.in_memory))), strict=True
    )
    refused = "container, route; remove_container was refused"
    assert ("nothing", "container, route", refused, "container", "container") == forward
    assert ("nothing", "container, route", "container", "nothing", "nothing") == reverse


def test_what_a_list_in_memory_forgets():
    """Without keys any crash hurts while something is there; with keys only one in the undo, after a failure that passes."""
    assert ".XXXXXXX." == signs(runs.places(lesson.full_zone(lesson.without_keys)))
    assert "........." == signs(runs.places(lesson.full_zone(lesson.in_memory)))
    assert ".....XXX" == signs(runs.places(lesson.deployment(lesson.in_memory), first=lesson.REFUSED))


def test_a_log_of_what_is_done_breaks_between_an_effect_and_its_record():
    """From the moment the effect is there to the moment before the commit, and nowhere else."""
    scenario = lesson.full_zone(lesson.only_done)
    lines = [line for line in run_once(scenario).lines if line.kind == "cross"]
    struck = [line for line, sign in zip(lines, signs(runs.places(scenario)), strict=True) if sign == "X"]
    assert lines[lines.index(struck[0]) :][: len(struck)] == struck
    assert ("configure_route shop", "after") == (struck[0].label, struck[0].side)
    assert ("COMMIT", "before") == (struck[-1].label, struck[-1].side)
    assert "X" not in signs(runs.places(lesson.full_zone(lesson.durable)))


def test_a_start_without_an_end_is_unknown():
    """The log that the lesson shows: the second try was refused, of the first nobody knows, and the step is undone."""
    log = [row[1:3] for row in texts(runs.log_of(lesson.full_zone(lesson.durable), "p1@cloud3.before+crash"))]
    assert ["unknown", "dns_record"] == log[5]
    undone = [step for event, step in log if event == "undone"]
    assert ["dns_record", "route", "container"] == undone
    assert ["compensated", ""] == log[-1]


def test_a_lost_answer_hurts_where_it_was_a_yes():
    """Behind each call, not in front of it; the library takes both for unknown."""
    lost = [
        runs.places(lesson.deployment(way), "timeout", boundary="cloud")
        for way in (lesson.lost_is_failed, lesson.durable)
    ]
    assert [".X.X.X.X", "........"] == [signs(found) for found in lost]


def test_what_the_caller_hears_of_an_undo_that_failed():
    """One stops, one is silent, one goes on and tells; asked again, the last calls nothing."""
    stops, silent, told = texts(runs.failed_undos(lesson.stops, lesson.in_memory, lesson.durable))
    assert ["TerminalError", "container, route, dns_record"] == stops[1:3]
    assert ["failed", "dns_record"] == silent[1:3]
    assert ["remains: dns_record", "dns_record", "remains: dns_record", "0"] == told[1:]


def test_the_deadline_of_the_undo():
    """Used up it undoes nothing, of its own it undoes all; a crash gives it no new time."""
    heard = [row[1:] for row in texts(late.deadlines())]
    done = ["failed", "nothing"]
    assert [["failed", "container, route"], done, done, ["remains: route, container", "container, route"]] == heard


def test_what_helps_against_a_late_action():
    """Waiting helps a little, asking again if it is ever answered, a tombstone always."""
    assert ["XXX", ".XX", "..X", "..."] == grid(late.what_helps())


def test_a_tombstone_stands_for_one_action():
    """A far side with tombstones lets everything else through."""
    end, _, why = runs.end_of(timed(late.undoes_at_once, Tombstones, "undisturbed"), "none")
    assert ("completed", None) == (end.last.value, why)


@pytest.mark.slow
def test_the_last_table():
    """Each saga survives what the lesson says, and only the library's all of it."""
    expected = ["XXXXX", ".XXXX", "..XXX", ".XXXX", "...X.", "....."]
    ways = [way for way in WAYS if way is not lesson.stops]
    assert expected == grid(runs.compared(*ways))


@pytest.mark.slow
@pytest.mark.parametrize("far", [lesson.deployment, lesson.full_zone])
def test_the_librarys_saga_closes(far):
    """Any number of crashes, forward and back; once it goes back it never goes forward, and there is one end."""
    report = swept(far, lesson.durable).or_raise()
    assert report.closure.closed
    drawn = reachable(report)
    text = {node.id: node.text for node in drawn.nodes}
    crashes = [(text[edge.source], text[edge.target]) for edge in drawn.edges]
    assert [] == [way for way in crashes if way[0].startswith("back") and way[1].startswith("forward")]
    assert (1, 0) == (sum(node.final for node in drawn.nodes), sum(node.broken for node in drawn.nodes))
    boxed = [int(node.text.split("(")[1].split()[0]) for node in drawn.nodes if not node.final]
    assert len(report.closure.states) == sum(boxed)


@pytest.mark.slow
def test_the_graph_forks_where_nobody_knows():
    """Left alone the failed step is not undone, dead in it it is; a saga that breaks has a broken end."""
    drawn = reachable(swept(lesson.full_zone, lesson.durable))
    text = {node.id: node.text for node in drawn.nodes}
    behind = {
        text[e.target].split(":")[0] for e in drawn.edges if text[e.source].startswith("forward: container, route")
    }
    assert {"back", "back, dns_record unknown", "failed, and there is"} == behind
    assert any(node.broken for node in reachable(swept(lesson.full_zone, lesson.only_done)).nodes)


def test_the_arrows_that_are_left_out_lead_nowhere_new():
    """A way that others make together is dropped, and a way to itself; everything is still reached."""
    assert {("a", "b"), ("b", "c"), ("b", "d")} == next_only(
        {("a", "a"), ("a", "b"), ("b", "c"), ("b", "d"), ("a", "c"), ("a", "d")}
    )
