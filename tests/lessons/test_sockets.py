"""The lesson's socket: each broken way still breaks where the lesson says, and the library's holds in the same place."""

import pytest

from labkit.lessons import sockets as lesson
from labkit.lessons import sockets_runs as runs
from labkit.lessons.approvals_agent import WHERE, Office
from labkit.lessons.sockets_house import COMMANDS, House, shared_queue, tried
from labkit.task import TaskState


@pytest.mark.parametrize("name", lesson.BROKEN)
def test_broken_ways_break(name):
    """Each in its trouble, as the lesson says."""
    way, trouble, command, why = lesson.BROKEN[name]
    assert ("broken", why) == ((found := runs.sent(way, command, trouble)).verdict, found.text)


@pytest.mark.parametrize("name", lesson.BROKEN)
def test_without_its_trouble_a_way_holds(name):
    """With the worker in the server's process, once, in the middle of the work, nothing is wrong with any of them."""
    way, _, command, _ = lesson.BROKEN[name]
    assert "holds" == runs.sent(way, command, runs.HERE).verdict


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("trouble", runs.TROUBLES)
def test_the_librarys_way(trouble, command):
    """Every command in every trouble: it takes effect once, or is refused with a reason."""
    assert "holds" == runs.sent(lesson.library, COMMANDS[command], trouble).verdict


def test_a_cancel_is_heard_where_the_worker_is():
    """By the worker at its next heartbeat, in whichever process: it does no further step."""
    assert [("cancelled", 2), ("cancelled", 2)] == [
        ((came := tried(None, COMMANDS["cancel"], **trouble)).house.queue.get("task-1").state, came.house.done) for trouble in ({}, {"here": True})
    ]


def test_an_undisturbed_task():
    """Nobody says anything: it does all its steps."""
    house = House()
    house.begin()
    house.go_on()
    assert "completed after 4 of 4 steps" == house.end()


def test_the_tables():
    """The flag breaks in three of four places, the library in none; twice and after the end nothing goes wrong."""
    verdicts = [[cell.verdict for cell in row[1:]] for row in runs.cancels(lesson.flag, None).rows]
    assert [["holds", "holds"], *[["broken", "holds"]] * 3] == verdicts
    assert ["holds", "broken", "broken"] == [row[1].verdict for row in runs.again().rows]
    assert {"holds"} == {cell.verdict for row in runs.again().rows for cell in row[2:]}


def test_one_conversation():
    """Priority, amendment, answer, refusal and a cancel that comes too late, over one socket, with workers that come and go."""
    office = Office(shared_queue())
    task_id = office.queue.submit(WHERE)
    talk = runs.Talk(office.queue, task_id)
    talk.say("priority", priority=9)
    talk.say("amend", text="Not web-1.", number=1)
    office.work("w1")
    talk.sees()
    talk.say("answer", text="web-2")
    office.work("w2")
    talk.say("refuse", reason="not before Monday")
    office.work("w3")
    talk.say("cancel")
    talk.close()
    assert "= waiting, priority 9, asks: Which server is full? (turn1_call1)" in talk.lines
    assert ["< no: task task-1 has completed already"] == [line for line in talk.lines if line.startswith("< no")]
    assert (TaskState.COMPLETED, []) == (office.queue.get(task_id).state, office.cloud.effects())
    assert repr(talk) in talk._repr_html_().replace("&gt;", ">").replace("&lt;", "<")
