"""Tasks that end and tell it, crashed wherever that is possible; two deliverers in every order; and the planted bugs that this finds."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from sqlalchemy import insert, select, update

from labkit.cloud import Effect
from labkit.faults import End, Scenario, interleave, search, sweep
from labkit.faults.process import Process
from labkit.faults.report import Report
from labkit.ids import counted_ids
from labkit.progress.ends import ends
from labkit.queue import Lease, TaskQueue
from labkit.retry import RetryPolicy
from labkit.tables import progress_log, webhook_deliveries
from labkit.webhook import Answer, Deliverer, Sender, outbox, through
from labkit.webhook.deliver import LEASE_SECONDS

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
HOOK = "http://hook.example/told"
Made = Callable[[Process], Deliverer]


def queue_of(process: Process) -> TaskQueue:
    return TaskQueue(process.engine, lease_seconds=60.0, clock=process.clock, now=process.clock.now, new_id=counted_ids("t"))


def receiver(process: Process, statuses: dict[int, int] | None = None) -> Callable[[httpx.Request], httpx.Response]:
    """Keeps what it gets in the ledger of the world, which outlives every process; answers 200, but another status to the nth request."""

    def receive(request: httpx.Request) -> httpx.Response:
        ledger = process.world.ledger
        digest = hashlib.sha256(request.content).hexdigest()[:12]
        state = json.loads(request.content)["state"]
        told = Effect(state, f"{json.loads(request.content)['id']} {digest}", request.headers["labkit-delivery"], "", "", "")
        ledger.append(told)
        return httpx.Response((statuses or {}).get(len(ledger.entries()), 200))

    return receive


def deliverer(process: Process, statuses: dict[int, int] | None = None) -> Deliverer:
    send = Sender(through(process.http(receiver(process, statuses))), secret="s")
    return Deliverer(process.engine, process.clock, send, now=process.clock.now, policy=RetryPolicy(max_attempts=5))


def finish(process: Process, hows: Sequence[str]) -> None:
    """Submit and end tasks, each in its way; `redriven` fails and then completes, in a second run."""
    queue = queue_of(process)
    for how in hows:
        task_id = queue.submit("deploy shop", webhook_url=HOOK, max_attempts=1)
        if how == "cancelled":
            queue.cancel(task_id)
            continue
        lease = claimed(queue)
        if how == "completed":
            queue.complete(lease, "up")
        else:
            queue.fail(lease, "no disk")
        if how == "redriven":
            queue.redrive(task_id)
            queue.complete(claimed(queue), "up")


def claimed(queue: TaskQueue) -> Lease:
    task = queue.claim("w")
    assert task is not None
    return Lease.of(task)


def tell(process: Process, made: Made = deliverer) -> None:
    """Deliver until nothing is left to deliver."""
    sends = made(process)
    sends.run_once()
    while _pending(process):
        process.clock.sleep(LEASE_SECONDS)
        sends.run_once()


def _pending(process: Process) -> bool:
    left = select(webhook_deliveries.c.id).where(webhook_deliveries.c.state == "pending").limit(1)
    with process.engine.connect() as connection:
        return connection.execute(left).first() is not None


def story(*hows: str, made: Made = deliverer) -> Scenario:
    """Tasks have ended, and a process tells it."""
    return Scenario(
        "webhooks", lambda process: tell(process, made), [all_told, same_bytes, right_states],
        lambda process: finish(process, hows), goal=told_again,
    )  # fmt: skip


def ending_and_telling() -> Scenario:
    """One process ends a task and tells it: what is swept begins before the end."""

    def run(process: Process) -> None:
        queue_of(process).cancel("t-1")
        tell(process)

    def prepare(process: Process) -> None:
        queue_of(process).submit("deploy shop", webhook_url=HOOK)

    return Scenario("ending", run, [all_told, same_bytes, right_states], prepare, goal=told_again)


def all_told(end: End) -> str | None:
    """Whoever comes to the end has told every end, and there is one delivery for each."""
    if end.last.how != "returned":
        return None
    ended = sorted((row["task_id"], row["run"]) for row in end.rows["progress_log"] if row["terminal"])
    kept = sorted((row["task_id"], row["run"]) for row in end.rows.get("webhook_deliveries", ()) if row["state"] == "delivered")
    got = {effect.key for effect in end.effects}
    return None if ended == kept and len(got) == len(ended) else f"ended: {ended}, delivered: {kept}, received: {got}"


def same_bytes(end: End) -> str | None:
    """What was received under one id was always the same."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for effect in end.effects:
        found[effect.key].add(effect.target)
    several = {key: bodies for key, bodies in found.items() if len(bodies) > 1}
    return f"different bodies under one id: {several}" if several else None


def right_states(end: End) -> str | None:
    """What was told of a task is how one of its runs ended."""
    wrong = [e for e in end.effects if e.name not in ("completed", "failed", "cancelled")]
    return f"told while it goes on: {wrong}" if wrong else None


def told_again(end: End) -> bool:
    """Something was received twice: the crash came between the receipt and the record of it."""
    keys = [effect.key for effect in end.effects]
    return len(keys) > len(set(keys))


@pytest.mark.parametrize(
    ("how", "database"),
    [("completed", "memory"), ("cancelled", "memory"),
     pytest.param("completed", "postgres", marks=pytest.mark.postgres)],
)  # fmt: skip
def test_every_crash_of_every_recovery(how: str, database: str) -> None:
    """However a task ended and wherever any number of processes die, each end is told at least once, under one id and with the same bytes."""
    closed(sweep(story(how), database))


def test_every_crash_from_before_the_end() -> None:
    """Also while the task ends: an end that happened is told, one that did not is not."""
    closed(sweep(ending_and_telling()))


def closed(report: Report) -> None:
    assert "holds" == report.verdict, report
    assert report.closure is not None
    assert (True, True) == (report.closure.closed, report.closure.crash_points > 20), report.closure


def test_several_tasks_and_lost_answers() -> None:
    """Mixed faults, also of HTTP (refused, timed out, late, twice): nothing is lost, nothing is told differently."""
    made = story("redriven", "cancelled")
    safe = Scenario("mixed", made.run, [same_bytes, right_states, all_told_or_given_up], made.setup)
    report = search(safe, examples=30, faults=("crash", "timeout", "error", "late(30)", "duplicate"))
    assert "holds" == report.verdict, report


def all_told_or_given_up(end: End) -> str | None:
    """Each end has one delivery, which was received, or says why not."""
    if end.last.how != "returned":
        return None
    ended = sorted((row["task_id"], row["run"]) for row in end.rows["progress_log"] if row["terminal"])
    kept = sorted((row["task_id"], row["run"]) for row in end.rows["webhook_deliveries"])
    got = {effect.key for effect in end.effects}
    silent = [row for row in end.rows["webhook_deliveries"] if row["id"] not in got and not row["last_error"]]
    return None if ended == kept and not silent else f"ended: {ended}, kept: {kept}, silent: {silent}"


class BodyMadeAnew(Deliverer):
    """The bug: each attempt makes its body from the task as it is now."""

    def _attempt(self, held: Any) -> None:
        send = self._send

        def anew(delivery_id: str, url: str, body: bytes) -> Answer:
            fresh = json.loads(body) | {"again": held.version > 1}
            return send(delivery_id, url, json.dumps(fresh).encode())

        self._send = anew
        super()._attempt(held)
        self._send = send


class RecordsFirst(Deliverer):
    """The bug: the delivery is recorded before it was received."""

    def _attempt(self, held: Any) -> None:
        outbox.settle(self.engine, held, "delivered", status=200, now=self.clock.now())
        self._send(held.id, held.url, held.body)


class ClearsFirst(Deliverer):
    """The bug: the note that an end is to be told is cleared before the delivery is written."""

    def run_once(self, stopped: Any = lambda: False) -> int:
        noted = progress_log.c.webhook_url.is_not(None)
        with self.engine.begin() as connection:
            found = ends(connection, noted)
            connection.execute(update(progress_log).where(noted).values(webhook_url=None))
        for ended in found:
            with self.engine.begin() as connection:
                connection.execute(insert(webhook_deliveries).values(outbox._row(ended, self.clock.now())))
        return super().run_once(stopped)


@pytest.mark.parametrize("bug", [BodyMadeAnew, RecordsFirst, ClearsFirst])
def test_planted_bugs_are_found(bug: type[Deliverer]) -> None:
    """A body that is made anew, a record that comes first and a note that is cleared too early are each found."""

    def made(process: Process) -> Deliverer:
        right = deliverer(process)
        return bug(process.engine, process.clock, right._send, now=process.clock.now)

    assert "broken" == search(story("completed", made=made), examples=40, faults=("crash",)).verdict


def two_deliverers(number: int = 2) -> Scenario:
    """Deliverers at one database that holds ends nobody has noticed."""

    def prepare(process: Process) -> None:
        finish(process, ("completed", "failed"))

    def body(process: Process) -> int:
        return deliverer(process).run_once()

    def once(end: End) -> str | None:
        keys = sorted(str(effect.key) for effect in end.effects)
        return f"sent: {keys}" if len(keys) != len(set(keys)) else None

    def nobody_fails(end: End) -> str | None:
        failed = [outcome for outcome in end.outcomes if outcome.how != "returned"]
        return str(failed[0]) if failed else end.deadlock or None

    def both(end: End) -> bool:
        return all(outcome.value for outcome in end.outcomes)

    return Scenario("deliverers", [body] * number, [once, nobody_fails, all_written, same_bytes], prepare, goal=both)


def all_written(end: End) -> str | None:
    """Both ends have their one delivery, and it was made: whoever looked when, nobody left one to nobody."""
    states = sorted((row["task_id"], row["state"]) for row in end.rows["webhook_deliveries"])
    return None if states == [("t-1", "delivered"), ("t-2", "delivered")] else f"{states}"


@pytest.mark.parametrize("database", DATABASES)
def test_two_deliverers(database: str) -> None:
    """In every order of two deliverers each delivery is written once and sent once, neither fails, and none is left."""
    report = interleave(two_deliverers(), database, preemptions=1)
    assert "holds" == report.verdict, report


@pytest.mark.parametrize("database", DATABASES)
def test_a_look_against_a_redrive(database: str) -> None:
    """Of a deliverer that looks and somebody who puts the task back to work, in every order: the failure is told as a failure."""

    def prepare(process: Process) -> None:
        finish(process, ("failed",))

    def redrive(process: Process) -> str:
        return queue_of(process).redrive("t-1").state

    def told_as_failed(end: End) -> str | None:
        told = [(effect.name, effect.target.split()[0]) for effect in end.effects]
        return None if told == [("failed", "t-1")] and end.tasks["t-1"]["state"] == "pending" else f"{told} {end.tasks}"

    made = Scenario("look", [lambda process: deliverer(process).run_once(), redrive], [told_as_failed], prepare)
    report = interleave(made, database, preemptions=1)
    assert "holds" == report.verdict, report
