"""The lesson on leases: each broken way still breaks on the schedule that the lesson shows, and the library's way holds."""

import pytest

from labkit import StaleLease
from labkit.faults import run_once
from labkit.lessons import lease_lives as lives
from labkit.lessons import leases as lesson
from labkit.lessons import poison
from labkit.lessons.lease_chart import lives as drawn
from labkit.lessons.states import one_crash
from labkit.queue import Lease
from labkit.tables import tasks

WAYS = [lesson.by_id, lesson.by_state, lesson.by_name, lesson.by_token]
SCORES = {  # way -> effects that were doubled: two names, one name, refusals not read
    lesson.by_id: (2, 2, 2),
    lesson.by_state: (1, 1, 2),
    lesson.by_name: (0, 1, 2),
    lesson.by_token: (0, 0, 2),
}


def end_of(way, schedule=lesson.SLEEPS, **how):
    return lesson.ends(lesson.zombie(way, **how), schedule)[0]


def verdicts(scenario):
    return "".join("X" if verdict == "broken" else "." for _, verdict, _ in lesson.naps(scenario))


@pytest.mark.parametrize("way", WAYS)
def test_how_much_each_way_doubles(way):
    """The staircase: a condition more in the WHERE, a case more that it survives; and none helps whoever does not look."""
    found = end_of(way), end_of(way, names=lesson.ONE_NAME), end_of(way, heed=False)
    assert SCORES[way] == tuple(map(lesson.doubled, found))
    row = lesson.staircase(way).rows[0]
    assert [str(score) for score in SCORES[way]] == [mark.text for mark in row[1:]]


@pytest.mark.parametrize(
    ("way", "zombie", "result"),
    [
        (lesson.by_id, "told the customer", "attempt 1 is up"),
        (lesson.by_state, "stopped at its completion", "attempt 2 is up"),
        (lesson.by_token, "stopped at its heartbeat", "attempt 2 is up"),
    ],
)
def test_who_wins(way, zombie, result):
    """One schedule: the last to write, the holder too late, the holder in time."""
    end = end_of(way)
    assert (zombie, "told the customer") == tuple(outcome.value for outcome in end.outcomes)
    assert result == end.tasks[lesson.TASK]["result"]
    assert ("holds" if way is not lesson.by_id else "broken") == lesson.ledgers(way).rows[0][-1].verdict


def test_the_attempt_alone_is_a_fence():
    """No two claims of a task have the same attempt, so the name adds nothing to it."""

    def by_attempt(lease):
        return *lesson.by_state(lease), tasks.c.attempt == lease.attempt

    for names in (lesson.TWO_NAMES, lesson.ONE_NAME):
        assert 0 == lesson.doubled(end_of(by_attempt, names=names))


def test_without_a_nap_nobody_takes_over():
    """Heartbeats in time keep the task, whichever way they ask."""
    for way in WAYS:
        end = end_of(way, "none")
        assert ("told the customer", "found nothing") == tuple(outcome.value for outcome in end.outcomes)
        assert not lesson.taken_over(end)


def test_where_a_nap_does_harm():
    """The token leaves the naps between its last yes and its completion, the key closes them, the key alone does not."""
    by_id, by_token = verdicts(lesson.zombie(lesson.by_id)), verdicts(lesson.zombie(lesson.by_token))
    assert (26, 18, 10) == (len(by_id), by_id.count("X"), by_token.count("X"))
    assert "X" * 10 == by_token.strip(".")
    assert all(wide == "X" for wide, narrow in zip(by_id, by_token, strict=True) if narrow == "X")
    assert "." * 26 == verdicts(lesson.zombie(lesson.by_token, key=lesson.TASK))
    assert "X" in verdicts(lesson.zombie(lesson.by_id, key=lesson.TASK))


def test_a_fence_does_not_guard_the_cloud():
    """Asleep between the yes and the effect: the record is right, and two containers run. With a key there is one."""
    end = end_of(lesson.by_token, lesson.LATER)
    assert ("deploy_container 2 times", None) == (lesson.nothing_twice(end), lesson.holders_result(end))
    assert lesson.taken_over(end)
    keyed = end_of(lesson.by_token, lesson.LATER, key=lesson.TASK)
    assert lesson.taken_over(keyed)
    assert {"deploy_container": 1, "send_mail": 1} == lesson.counted(keyed)


def test_a_claim_without_an_end_leaves_a_task_running_for_ever():
    """From the claim to the completion; under a lease no crash does that, whoever dies where."""
    for_good, for_a_while = (one_crash(lives.dies(take)) for take in (lives.claim_for_good, lives.claim_for_a_while))
    assert (26, 18) == (len(for_good), sum(verdict == "broken" for _, verdict, _ in for_good))
    assert {"", "running for ever"} == {why for _, _, why in for_good}
    assert {"holds"} == {verdict for _, verdict, _ in for_a_while}


@pytest.mark.parametrize("lease", [10, 60, 3600])
@pytest.mark.parametrize("beats", [1, 2, 4])
def test_the_margin_is_the_lease_less_the_period(lease, beats):
    """A stall of exactly the margin is survived, and not a second more; with one heartbeat a lease there is no margin."""
    every = lease / beats
    assert lives.kept(lease, every, lease - every)
    assert not lives.kept(lease, every, lease - every + 1)


def test_the_table_of_margins_says_the_same():
    """Kept where the stall is within the margin; a dead worker's task waits for the lease."""
    for (lease, every), row in zip(lives.LENGTHS, lives.margins().rows, strict=True):
        expected = ["holds" if stall <= lease - every else "broken" for stall in lives.STALLS]
        assert expected == [mark.verdict for mark in row[2:-1]]
        assert row[-1] == row[0]


@pytest.mark.parametrize(("ask", "steps"), [(lives.never_asks, lives.STEPS), (lives.asks, lives.STALLED_AFTER)])
def test_only_who_asks_hears_of_a_refused_heartbeat(ask, steps):
    """Either way the zombie writes nothing and is counted."""
    with lives.said_by_workers() as said:
        done, worker, queue = lives.in_steps(ask)
    assert (steps, 1, 0) == (done, worker.lost, worker.done)
    assert "by its successor" == queue.get("task-1").result
    assert ["attempt 1 of w1 was fenced off: <Task task-1 completed w2 attempt=2 v6>"] == said


def test_a_poison_task_kills_for_ever_where_an_except_asks():
    """No except sees the kill, so each worker takes the poison again and nobody comes to the task behind it."""
    shift = poison.shift(poison.limit_in_except)
    assert {"dies of deploy poison"} == {mark.text for mark in shift.told}
    assert ("running", "pending") == tuple(str(shift.queue.get(f"task-{number}").state) for number in (1, 2))


def test_a_poison_task_kills_as_many_as_it_has_attempts():
    """Then it is a dead letter, and the task behind it is done."""
    shift = poison.shift(poison.limit_in_claim)
    told = [mark.text for mark in shift.told]
    assert ["dies of deploy poison"] * 3 + ["deploy shop"] + ["nothing to do"] * 2 == told
    (letter,) = shift.queue.dead_letters()
    assert ("task-1", "failed", "lease expired x3") == (letter.id, letter.state, letter.error)
    assert "up" == shift.queue.get("task-2").result


def test_a_redrive_goes_on_counting():
    """A zombie of the run that failed does not hold the token of the new one, under the same name either."""
    queue = poison.shift(poison.limit_in_claim).queue
    (letter,) = queue.dead_letters()
    queue.redrive(letter)
    claimed = queue.claim("w3")
    assert (letter.worker_id, letter.attempt + 1) == (claimed.worker_id, claimed.attempt)
    with pytest.raises(StaleLease):
        queue.complete(Lease("task-1", "w3", letter.attempt, claimed.lease_expires_at), "up")


def test_the_picture_tells_the_three_ledgers():
    """Score, nap, refusals and what happened twice, in words and on the page; equal runs give equal pictures."""
    three = [lesson.by_id, lesson.by_state, lesson.by_token]
    picture = drawn({way.__name__: run_once(lesson.zombie(way), lesson.SLEEPS) for way in three})
    told = repr(picture).splitlines()
    assert ["by_id: 2 doubled", "by_state: 1 doubled", "by_token: nothing doubled"] == told[::3]
    assert "15 min heartbeat, 2nd container; 20 min 2nd completion, 2nd mail" in told[1]
    assert told[4].endswith("20 min completion refused")
    assert told[7].endswith("5 min asleep until 15 min; 15 min heartbeat refused")
    page = picture._repr_html_()
    assert 4 == page.count('class="lk-bad"')
    assert page == drawn({way.__name__: run_once(lesson.zombie(way), lesson.SLEEPS) for way in three})._repr_html_()


def test_the_picture_knows_what_a_key_answers():
    """What the ledger answers is neither a second container nor left out."""
    picture = drawn({"keyed": run_once(lesson.zombie(lesson.by_token, key=lesson.TASK), lesson.LATER)})
    assert "keyed: nothing doubled" in repr(picture)
    assert "17 min heartbeat, the same container" in repr(picture)
