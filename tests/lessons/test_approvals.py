"""The lesson on questions to a person: each broken design still breaks where the lesson says, and the library's holds in the same place."""

import pytest

from labkit.agent.approval import answer, approve, refuse
from labkit.errors import InvalidTransition
from labkit.faults import interleave, run_once, sweep
from labkit.lessons import approvals as lesson
from labkit.lessons import approvals_agent as agent
from labkit.lessons import approvals_night as by_night
from labkit.lessons import approvals_two as two
from labkit.lessons.agents_runs import crashes
from labkit.lessons.approvals_world import ONCE, TWICE, TWO_HOSTS, night
from labkit.task import TaskState

ASKED_TWICE = "the person is asked 2 times"
WHY = {  # broken design -> how it breaks
    "waits inside of the worker": ASKED_TWICE,
    "the question in memory": "waiting for ever",
    "asked before it is parked": ASKED_TWICE,
    "the answer is read once": ASKED_TWICE,
    "a yes without a name": "clean_logs web-2 ran on a yes to something else",
    "a yes to the same words": "clean_logs web-1 ran on a yes to something else",
}


def signs(strip):
    """The verdicts of each row in a line."""
    return ["".join("X" if cell.verdict == "broken" else "." for cell in row.cells) for row in strip.rows]


def notes(trace):
    """Places of faults that were not met."""
    return [line for line in trace.lines if line.label in ("crossing not reached", "something else stands there")]


def test_every_broken_design_is_named():
    """The tests below leave none out."""
    assert WHY.keys() == lesson.BROKEN.keys()


@pytest.mark.parametrize("name", WHY)
def test_broken_designs_break(name):
    """On the schedule that belongs to each, all of whose faults strike."""
    trace = run_once(*lesson.BROKEN[name])
    assert (WHY[name], []) == (trace.broken, notes(trace))


@pytest.mark.parametrize("name", WHY)
def test_the_librarys_design_survives_the_same(name):
    """The same calls, and the crash in the night or behind the yes wherever there is one."""
    scenario, schedule = lesson.BROKEN[name]
    places = {lesson.IN_THE_NIGHT, lesson.BEHIND_THE_YES, "none"} if schedule != "none" else {"none"}
    assert {None} == {run_once(agent.sound_for(scenario), place).broken for place in places}


@pytest.mark.parametrize(
    "scenario",
    [
        night(lesson.blocks),
        night(lesson.in_memory, lesson.answers_in_memory),
        night(lesson.mails_first),
        night(lesson.reads_once),
        night(lesson.any_yes),
        night(lesson.same_words),
        *(night(lesson.parks, calls=calls) for calls in (ONCE, TWO_HOSTS, TWICE)),
    ],
    ids=lambda scenario: scenario.name,
)
def test_undisturbed_every_design_holds(scenario):
    """With one call and without a crash nothing is wrong with any of them."""
    assert None is run_once(scenario).broken


def test_where_each_design_breaks():
    """From the question to what makes it durable, or from the yes to the record."""
    designs = (
        night(lesson.blocks),
        night(lesson.in_memory, lesson.answers_in_memory),
        night(lesson.mails_first),
        night(lesson.reads_once),
    )
    found = signs(crashes(*designs, brief=True))
    assert ["X" * 5, "X" * 10, "XX", "X" * 4] == [row.strip(".") for row in found]


def test_the_librarys_design_closes():
    """Ask, park, answer, claim, act: any number of crashes, and nobody is asked twice."""
    report = sweep(night(lesson.parks)).or_raise()
    assert report.closure.closed


def test_the_night():
    """One worker is blocked until the morning, and the first yes is lost; parked, the task waits alone and all else is done."""
    blocking, parked = by_night.nights().nights
    assert "asked 2 times, 1 of 8 other tasks done by 8:00, cleaned at 8:30" == blocking.score
    assert "asked 1 time, 8 of 8 other tasks done by 8:00, cleaned at 8:15" == parked.score
    assert ["waiting", "held"] == [bar.kind for bar in parked.lanes[0].bars]
    assert not any(bar.kind == "blocked" for lane in parked.lanes for bar in lane.bars)
    assert [8.0] == [moment.at for lane in blocking.lanes for moment in lane.moments if moment.lost]


def test_the_drawing_of_the_night():
    """A letter for each quarter; what is lost is marked in words and in red; equal nights give equal bytes."""
    drawn = by_night.nights()
    lines = repr(drawn).splitlines()
    assert "  the task    wwwwwwwwwwwwwwwwwwwwh..." in lines
    assert any("X yes, to w1" in line for line in lines)
    assert drawn._repr_html_() == by_night.nights()._repr_html_()
    assert 'class="lk-bad"' in drawn._repr_html_()


def test_who_has_to_ask():
    """What a tool may do at worst decides, under each policy."""
    assert [("runs",) * 3, ("asks", "runs", "runs"), ("asks", "asks", "runs")] == [
        row[2:] for row in agent.policy().rows
    ]


def test_a_question_outlives_its_worker():
    """The task waits without a worker; another one goes on after the yes, and the answer closes its question."""
    office = agent.Office()
    task_id = office.queue.submit(agent.ROOM)
    office.work("w1")
    office.queue.clock.sleep(24 * 3600)
    assert (TaskState.WAITING, None, []) == (
        office.queue.get(task_id).state,
        office.queue.claim("w9"),
        office.queue.bury(),
    )
    assert [office.queue.question(task_id).text] == office.known(task_id).open_questions
    approve(office.queue, task_id)
    with pytest.raises(InvalidTransition):
        refuse(office.queue, task_id, "too late")
    office.work("w2")
    assert (TaskState.COMPLETED, 1) == (office.queue.get(task_id).state, office.cloud.count("clean_logs"))
    assert [] == office.known(task_id).open_questions


def test_other_answers():
    """A no is told to the model with its reason; a text answers the model's own question, and not that of the policy."""
    office = agent.Office()
    no, where = office.queue.submit(agent.ROOM), office.queue.submit(agent.WHERE)
    office.work("w1")
    refuse(office.queue, no, "not before Monday")
    answer(office.queue, where, "web-2")
    office.work("w2")
    refused, asked = office.talk(no, where).moments
    assert ("not run, a person said: refused: not before Monday (turn1_call1)", ()) == (
        refused.talk[2].text,
        refused.ledger,
    )
    assert (TaskState.WAITING, "open") == (office.queue.get(where).state, asked.talk[-1].sign)
    approve(office.queue, where)
    office.work("w3")
    assert 1 == office.cloud.count("clean_logs", "web-2")


def test_a_yes_is_to_one_call():
    """What was put to the person, and what ran: the library asks for each call."""
    scenarios = [
        night(lesson.any_yes, calls=TWO_HOSTS),
        night(lesson.parks, calls=TWO_HOSTS),
        night(lesson.same_words, calls=TWICE),
    ]
    rows = agent.put_to_the_person(*scenarios).rows
    assert ["cleaned web-1, then web-2", "cleaned web-1", "cleaned web-1, then web-1"] == [row[2].text for row in rows]
    assert 2 == rows[1][1].count("clean_logs")


def test_two_people():
    """In some order both are told that their word counts; with the library's answer in none."""
    broken = interleave(two.two_people(two.last_word))
    assert "both were told that it counts, and stored is: approved" == broken.broken[0].why
    assert "holds" == interleave(two.two_people(two.first_word)).verdict
