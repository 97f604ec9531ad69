"""Ways to take a deployment on: each breaks where the lesson says, and the queue's way does not."""

import pytest

from labkit.faults import interleave, run_once, sweep
from labkit.lessons import accepting
from labkit.lessons.states import one_crash
from labkit.lessons.story import containers

LOST = "p1@http1.after+timeout"


def test_work_in_the_handler_is_done_twice():
    """Common error 1: the proxy hangs up twice, the handler deploys twice, and she hears nothing."""
    trace = run_once(accepting.clicked)
    assert ("2 containers, not 1", 2) == (trace.broken, containers(trace))
    assert [600.0, 660.0] == [line.time for line in trace.lines if line.kind == "effect"]
    assert "'no answer'" in next(line.text for line in trace.lines if line.kind == "end")


def test_the_queue_answers_at_once():
    """The request is over before the work begins, and the work is done once."""
    trace = run_once(accepting.queued)
    answered = next(line for line in trace.lines if line.kind == "end" and line.process == "p1")
    assert (0.0, 1) == (answered.time, containers(trace))
    assert trace.broken is None


@pytest.mark.parametrize(
    ("scenario", "count"), [(accepting.queued_without_a_key, 2), (accepting.queued, 1)], ids=lambda value: str(value)
)
def test_a_lost_answer_needs_a_key(scenario, count):
    """The click after a lost answer is a second task, unless it comes under the same key."""
    assert count == containers(run_once(scenario, LOST))


def test_the_queue_holds_in_every_order():
    """Whoever moves first, the request or the worker: one container."""
    assert "holds" == interleave(accepting.queued, preemptions=1).verdict


def test_a_list_in_memory_breaks_from_the_first_promise_on():
    """Nearly every crash loses what was accepted; only before the first promise and after the last deployment none does."""
    verdicts = [verdict for _, verdict, _ in one_crash(accepting.reboot_in_memory)]
    assert ["holds", *["broken"] * (len(verdicts) - 2), "holds"] == verdicts
    report = sweep(accepting.reboot_in_memory)
    assert ("kept_its_word", "shop was accepted and deployed 0 times") == (report.broken[0].invariant, report.broken[0].why)


def test_a_table_keeps_every_promise():
    """A crash anywhere: after the reboot everything that was accepted is deployed, once."""
    runs = one_crash(accepting.reboot_in_a_table)
    assert {"holds"} == {verdict for _, verdict, _ in runs}
    assert len(runs) > len(one_crash(accepting.reboot_in_memory))


def test_promises_are_really_made():
    """Reachability: a calm run accepts both and deploys both."""
    for scenario in (accepting.reboot_in_memory, accepting.reboot_in_a_table):
        effects = [line.label for line in run_once(scenario).lines if line.kind == "effect"]
        assert ["send_mail shop", "send_mail blog", "deploy_container shop", "deploy_container blog"] == effects
