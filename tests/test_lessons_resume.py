"""The listings of the lesson on resuming: the broken ones still break as the lesson says, the right one does not."""

import pytest

from labkit.faults import run_once, sweep
from labkit.faults.fidelity import fidelity
from labkit.lessons import resume
from labkit.lessons.resume import deployment, recovers_behind_a_lock_file
from labkit.lessons.states import compared, one_crash, reachable
from labkit.lessons.story import containers

MINUTE_EIGHT = "p1@cloud1.after+crash"


def test_starting_over_deploys_again():
    """A reboot at minute eight, after the container is there: the second run makes a second one."""
    trace = run_once(resume.slowly(resume.starts_over), MINUTE_EIGHT)
    assert containers(trace) == 2
    assert trace.lines[-1].time == 1080  # eight minutes, and then ten


@pytest.mark.parametrize(
    ("way", "why"),
    [
        (resume.starts_over, "deploy_container happened 2 times, not once"),
        (resume.leaves_running_alone, "deploy_container happened 0 times, not once"),
        (resume.writes_first, "deploy_container happened 0 times, not once"),
    ],
)
def test_each_broken_way_breaks_with_one_crash(way, why):
    """One crash is enough, and the reason is the lesson's."""
    report = sweep(deployment(way))
    assert report.broken[0].why == why
    assert report.broken[0].token.count("+crash") == 1


def test_a_lock_file_needs_two_crashes():
    """No single crash breaks the recovery behind a lock file; a crash of the recovery does."""
    report = sweep(recovers_behind_a_lock_file)
    assert {verdict for _, verdict, _ in one_crash(recovers_behind_a_lock_file)} == {"holds"}
    assert report.verdict == "broken"
    assert report.broken[0].token.count("+crash") == 2


def test_resuming_holds_in_every_state():
    """However many crashes in a row: five states, and each ends well."""
    report = sweep(deployment(resume.resumes))
    assert (report.verdict, len(report.closure.states), report.closure.closed) == ("holds", 5, True)


def test_the_graph_shows_every_state_and_end():
    """A box for each state and one for the end, none broken; the naive one shows its broken ends."""
    right, wrong = (reachable(sweep(deployment(way))) for way in (resume.resumes, resume.starts_over))
    assert [node.final for node in right.nodes] == [False] * 5 + [True]
    assert not any(node.broken for node in right.nodes)
    assert any(node.broken and node.final for node in wrong.nodes)


def test_the_comparison_names_verdicts():
    """A row a sweep, with how many crashes it took."""
    reports = [sweep(deployment(resume.resumes)), sweep(recovers_behind_a_lock_file)]
    assert [row[4] for row in compared(reports).rows] == ["", "2"]


@pytest.mark.slow
def test_a_real_kill_leaves_what_the_raised_crash_leaves():
    """At every crash point of the deployment both leave the same durable state."""
    found = fidelity(deployment(resume.resumes))
    assert (found.compared, found.differences) == (20, [])


def test_what_resume_does_with_each_state():
    """Final states are left alone, every other one ends completed."""
    rows = {str(row[0]): row[1:3] for row in resume.what_resume_does().rows}
    assert rows["unknown"] == ("TaskNotFound", "no")
    assert {state for state, (_, worked) in rows.items() if worked == "no"} == {"unknown", "completed", "cancelled"}
