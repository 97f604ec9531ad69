"""Deliveries are made until they are received, again with the same bytes, no sooner than asked, and given up with a reason."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest
from sqlalchemy import Engine

from labkit.clock import SystemClock, VirtualClock
from labkit.errors import CallTimeout, StoreBusy, UsageError
from labkit.retry import RetryPolicy
from labkit.webhook import Answer, Deliverer, PinnedPost, Sender, outbox, start, verify
from labkit.webhook.deliver import LEASE_SECONDS, LONGEST_ASKED, STOP_SECONDS
from labkit.webhook.wire import TIMEOUT_SECONDS
from tests.webhook.helpers import LOOPBACK, Hooks, Receiver, Told, closes, status

Make = Callable[..., Hooks]


@pytest.fixture
def make(engine: Engine, clock: VirtualClock) -> Make:
    """Hooks whose receiver gives these answers."""
    return lambda *answers, **options: Hooks(engine, clock, Told(*answers), **options)


def test_delivered(make: Make) -> None:
    """What was received is told once, and the row says so."""
    hooks = make(204)
    task_id = hooks.completed()
    assert (1, 1) == (hooks.deliver(), hooks.deliverer.delivered)
    kept = hooks.only(task_id)
    assert ("delivered", 1, 204, None) == (kept.state, kept.attempt, kept.last_status, kept.last_error)
    assert 1 == len(hooks.deliverer._send.got)  # type: ignore[attr-defined]


@pytest.mark.parametrize("failure", [404, 500, 503, CallTimeout("no answer"), ConnectionResetError("reset"), ValueError("odd")], ids=str)
def test_tried_again(make: Make, failure: int | Exception) -> None:
    """After a failure that may pass, the same id, address and bytes go out again until they are received."""
    hooks = make(failure, failure, 200)
    send: Told = hooks.deliverer._send  # type: ignore[assignment]
    task_id = hooks.completed()
    assert 3 == hooks.deliver()
    kept = hooks.only(task_id)
    assert ("delivered", 3, 200) == (kept.state, kept.attempt, kept.last_status)
    assert [(kept.id, kept.url, kept.body)] * 3 == send.got


@pytest.mark.parametrize(
    ("answer", "reason", "code"),
    [
        (302, "the receiver answered 302, and redirects are not followed", 302),
        (308, "the receiver answered 308, and redirects are not followed", 308),
        (410, "the receiver answered 410", 410),
        (UsageError("hook.example leads to 10.0.0.1, which is not public and was not allowed"), "hook.example leads to 10.0.0.1", None),
    ],
    ids=str,
)
def test_failed_at_once(make: Make, answer: int | Exception, reason: str, code: int | None) -> None:
    """A redirect, a receiver that is gone and an address that may not be reached fail for good, with the reason."""
    hooks = make(answer)
    task_id = hooks.completed()
    assert (1, 1) == (hooks.deliver(), hooks.deliverer.failed)
    kept = hooks.only(task_id)
    assert ("failed", 1, code) == (kept.state, kept.attempt, kept.last_status)
    assert kept.last_error is not None
    assert kept.last_error.startswith(reason)


@pytest.mark.parametrize(("failure", "reason", "code"), [(500, "the receiver answered 500", 500), (OSError("no route"), "no route", None)])
def test_given_up(make: Make, failure: int | Exception, reason: str, code: int | None) -> None:
    """After the last attempt it has failed and keeps the last reason; no attempt comes after that."""
    hooks = make(failure, policy=RetryPolicy(max_attempts=4))
    task_id = hooks.completed()
    assert 4 == hooks.deliver()
    kept = hooks.only(task_id)
    assert ("failed", 4, reason, code) == (kept.state, kept.attempt, kept.last_error, kept.last_status)
    assert "failed attempt=4" in repr(kept)


def waits(hooks: Hooks, most: int = 50) -> list[float]:
    """Deliver, each time going to the instant at which the next attempt is due; the seconds between attempts."""
    task_id, at = hooks.completed(), [hooks.clock.elapsed]
    for _ in range(most):
        hooks.deliverer.run_once()
        kept = hooks.only(task_id)
        if kept.state != "pending":
            break
        early = (kept.due_at - hooks.clock.now()).total_seconds()
        hooks.clock.sleep(early - 0.001)
        assert 0 == hooks.deliverer.run_once(), "sent before it was due"
        hooks.clock.sleep(0.001)
        at.append(hooks.clock.elapsed)
    return [later - sooner for sooner, later in pairwise(at)]


def test_waits_are_drawn(make: Make) -> None:
    """The waits stay under doubled bounds, differ between tasks that failed together, and are drawn for a policy without a generator too."""
    hooks = make(500, policy=RetryPolicy(max_attempts=5, base=8.0, cap=20.0))
    first, second = waits(hooks), waits(hooks)
    assert all(wait <= bound for wait, bound in zip(first, (8.0, 16.0, 20.0, 20.0), strict=True))
    assert (4, 4, 8) == (len(first), len(second), len({round(wait, 6) for wait in first + second}))


def test_the_receiver_may_ask_for_time(make: Make) -> None:
    """Retry-After is a floor, in seconds or as a date; nobody can make us wait for ever, and nonsense is no wish."""
    policy = RetryPolicy(max_attempts=5, base=1.0)
    hooks = make(500)
    date = format_datetime(hooks.clock.now() + timedelta(seconds=1_000), usegmt=True)
    asked = [Answer(503, "120"), Answer(429, date), Answer(503, "1e300"), Answer(503, "soon")]
    first, second, third, fourth = waits(make(*asked, 500, policy=policy))
    assert 120 <= first <= 121
    assert 1_000 - first <= second + 1e-6 <= 1_002 - first
    assert LONGEST_ASKED <= third <= LONGEST_ASKED + 4
    assert fourth <= 8


def test_a_crash_between_receipt_and_record(make: Make) -> None:
    """A deliverer that dies after the receiver has it leaves the delivery leased; the next one sends the same again, and no attempt was used up."""
    hooks = make(KeyboardInterrupt(), 200, policy=RetryPolicy(max_attempts=1))
    send: Told = hooks.deliverer._send  # type: ignore[assignment]
    task_id = hooks.completed()
    with pytest.raises(KeyboardInterrupt):
        hooks.deliverer.run_once()
    hooks.clock.sleep(LEASE_SECONDS - 1)
    assert 0 == hooks.deliverer.run_once()
    hooks.clock.sleep(2)
    assert 1 == hooks.deliverer.run_once()
    assert ("delivered", 1, True) == (hooks.only(task_id).state, hooks.only(task_id).attempt, send.got[0] == send.got[1])


def test_slept_past_the_lease(engine: Engine, clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    """A deliverer that was overtaken while it sent changes nothing any more, and says so."""
    caplog.set_level(logging.INFO, "labkit.webhook")
    other = Hooks(engine, clock, Told(200))

    def slow(delivery_id: str, url: str, body: bytes) -> Answer:
        clock.sleep(LEASE_SECONDS + 1)
        assert 1 == other.deliverer.run_once()
        return Answer(500)

    hooks = Hooks(engine, clock, slow)
    task_id = hooks.completed()
    hooks.deliverer.run_once()
    assert ("delivered", 1, 0, 0) == (other.only(task_id).state, other.only(task_id).attempt, hooks.deliverer.failed, hooks.deliverer.delivered)
    assert "another deliverer has it by now" in caplog.text


def test_an_attempt_fits_into_its_lease() -> None:
    """The time limit of an attempt is far shorter than the lease, and whoever stops a deliverer waits longer than one attempt."""
    assert TIMEOUT_SECONDS * 4 < LEASE_SECONDS
    assert TIMEOUT_SECONDS < STOP_SECONDS


def test_one_failing_receiver_keeps_no_other_waiting(make: Make) -> None:
    """Whoever has to be tried again stands back for those that are due."""
    hooks = make(500, 200)
    hooks.completed("http://bad.example/")
    hooks.clock.sleep(1)
    good = hooks.completed("http://good.example/")
    hooks.deliverer.run_once()
    assert "delivered" == hooks.only(good).state


def test_logged_in_structure(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Each attempt is one line with task, delivery, attempt and state, and without the body."""
    caplog.set_level(logging.INFO, "labkit.webhook")
    hooks = make(500, 200)
    task_id = hooks.completed(result="a secret result")
    hooks.deliver()
    facts = [(r.task, r.attempt, r.state) for r in caplog.records if r.name == "labkit.webhook"]  # type: ignore[attr-defined]
    assert [(task_id, 1, "pending"), (task_id, 2, "delivered")] == facts
    assert "secret" not in caplog.text


def test_an_outage_ends_nothing(make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A database that is away is logged in one line and waited for; then all is delivered."""
    hooks, fails = make(200), [StoreBusy(), RuntimeError("one\ntwo"), None]
    task_id, real = hooks.completed(), outbox.collect

    def sometimes(*args: object) -> int:
        error = fails.pop(0) if fails else None
        if error:
            raise error
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(outbox, "collect", sometimes)
    naps: list[float] = []
    hooks.deliverer.run(lambda: len(naps) == 3, naps.append)
    assert ("delivered", [0.5] * 3) == (hooks.only(task_id).state, naps)
    assert 2 == sum("cannot deliver webhooks now" in record.getMessage() for record in caplog.records)


def test_stopping_finishes_the_attempt(make: Make) -> None:
    """Asked to stop, a deliverer begins no further attempt and does not wait."""
    hooks = make(200)
    send: Told = hooks.deliverer._send  # type: ignore[assignment]
    for _ in range(3):
        hooks.completed()
    hooks.deliverer.run(lambda: len(send.got) == 2, lambda seconds: pytest.fail("it waits"))
    assert 2 == len(send.got)


def test_over_a_real_socket(engine: Engine) -> None:
    """In a thread, against a receiver that fails in every way: it gets one delivery with the same bytes each time, signed, and then it is told no more."""
    hangs = lambda request: receiver.over.wait() and None  # type: ignore[func-returns-value] # noqa: E731
    behaviour = [status(500), status(404), closes, hangs, status(200)]
    clock = SystemClock()
    send = Sender(PinnedPost(allow=LOOPBACK, timeout=0.2), secret="s")
    with Receiver(*behaviour) as receiver:
        hooks = Hooks(engine, clock, send)  # type: ignore[arg-type]
        task_id = hooks.completed(receiver.url)
        running: list[threading.Thread] = []

        def spawn(name: str, run: Callable[[], None]) -> threading.Thread:
            running.append(threading.Thread(target=run, name=name))
            running[-1].start()
            return running[-1]

        # five attempts whose waits are far shorter than a blink
        stop = start(Deliverer(engine, clock, send, policy=RetryPolicy(max_attempts=9, base=1e-6), poll_seconds=0.01), spawn)
        give_up = clock.monotonic() + 60
        while hooks.only_state(task_id) != "delivered":
            assert clock.monotonic() < give_up, hooks.of(task_id)
        stop()
        assert (["labkit webhooks"], False) == ([t.name for t in running], running[0].is_alive())
    kept = hooks.only(task_id)
    assert (5, 5) == (kept.attempt, len(receiver.got))
    assert 1 == len({(path, tuple(sorted(headers.items())), body) for path, headers, body in receiver.got})
    _, headers, body = receiver.got[0]
    assert verify("s", headers["Labkit-Delivery"], body, headers["Labkit-Signature"])
    assert ("completed", "up", kept.id) == (json.loads(body)["state"], json.loads(body)["result"], headers["Labkit-Delivery"])


def test_reprs(make: Make) -> None:
    """A deliverer says in one line what it did."""
    assert repr(make().deliverer).endswith(" delivered=0 failed=0>")
