"""The search: mixed schedules, and the smallest one that breaks something."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from labkit.faults import End, Process, Scenario, Schedule, Token, exactly_once, open_world, replay, search
from labkit.faults.runner import Runner
from labkit.faults.search import search_runs
from tests.faults import scenarios


def smallest(scenario: Scenario, **options: object) -> Schedule:
    report = search(scenario, **options)  # type: ignore[arg-type]
    assert report.verdict == "broken", report
    return Token.parse(report.broken[0].token).schedule


def test_a_planted_bug_is_shrunk_to_one_crash() -> None:
    """The missing key needs one crash after the effect, and nothing else is left in the counterexample."""
    (only,) = smallest(scenarios.WITHOUT_KEY, faults=("crash", "delay(30)")).injections
    assert (1, "crash") == (only.process, only.fault.kind)


def test_two_faults_are_found_where_two_are_needed() -> None:
    """Only a retry that crashes doubles the effect: no single fault does it, so no sweep of single time-outs finds it."""

    def body(process: Process) -> None:
        try:
            process.cloud.deploy_container("shop", key="k")
        except TimeoutError:
            process.cloud.deploy_container("shop", key="retry" if process.name == "p2" else "k")

    schedule = smallest(
        Scenario("two", body, [exactly_once("deploy_container")]), faults=("crash", "timeout"), examples=600
    )
    assert ["crash", "timeout"] == [
        injection.fault.kind for injection in sorted(schedule.injections, key=lambda i: i.process)
    ]


def test_the_same_call_finds_the_same() -> None:
    """No luck of the day: two searches draw the same schedules and report the same token."""
    first, second = (search(scenarios.WITHOUT_KEY, examples=60) for _ in range(2))
    assert str(first) == str(second)
    assert first.broken[0].token == second.broken[0].token


def test_the_token_of_a_search_replays() -> None:
    """What was found in a search is there in a replay."""
    report = search(scenarios.WITHOUT_KEY)
    assert replay(scenarios.WITHOUT_KEY, report.broken[0].token).broken == report.broken[0].why


def test_a_right_program_holds_and_every_end_was_seen() -> None:
    """Nothing is found in what is right under crashes and delays, and `seen` is told of each run."""
    seen: list[End] = []
    with open_world("memory") as world:
        ran, worst = search_runs(
            Runner(scenarios.SAGA, world), examples=40, faults=("crash", "delay(30)"), seen=seen.append
        )
    assert worst is None
    assert ran == len(seen) >= 40


def test_a_fault_that_cannot_happen_somewhere_is_no_bug_of_the_program() -> None:
    """A sleep does not time out: such a schedule is one without that fault, and when none ever struck nothing was exercised."""

    def body(process: Process) -> None:
        process.clock.sleep(1)

    scenario = Scenario("sleeper", body, [lambda end: None if end.last.how == "returned" else str(end.last)])
    assert search(scenario, faults=("timeout",), examples=40).verdict == "not_exercised"
    assert search(scenario, faults=("timeout", "delay(30)"), examples=40).verdict == "holds"
    nothing = Scenario("nothing", lambda process: None)
    assert search(nothing, examples=40).verdict == "not_exercised"


def test_orders_and_faults_are_drawn_together() -> None:
    """With two actors the search draws who moves when, too."""

    def claim(process: Process) -> bool:
        task = process.store.get("t1")
        free = task is not None and task.state == "pending"
        if free and task is not None:
            with suppress(Exception):
                process.store.save(replace(task, state="running"))
        return free

    def one_thought_so(end: End) -> str | None:
        return "both thought so" if [o.value for o in end.outcomes[:2]] == [True, True] else None

    schedule = smallest(
        Scenario("race", (claim, claim), [one_thought_so], setup=scenarios.one_pending_task), faults=("clock_step(1)",)
    )
    assert schedule.injections == ()
    assert len(schedule.order) > 0
