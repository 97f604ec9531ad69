"""Tell those who wait how their tasks ended: at least once, under one id and with the same bytes, until they say that they have it.

A deliverer writes the deliveries that are missing, then sends what is due, one after the other, each under a lease. What was not received is sent again
after a drawn delay, not before the receiver asked for it; after the last attempt it has failed and keeps the reason. A redirect, a 410
and an address that may not be reached fail at once. A crash, and any other BaseException, goes through: whoever takes the delivery next sends the
same bytes again, and the receiver knows the id. Any number of deliverers may work on one database. What was received is removed after a while (`keep`).

Not handled here: receivers that take their time make the next ones wait, up to the time limit each; several deliverers help.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Engine

from labkit.clock import Clock, SystemClock
from labkit.database import in_one_line, shown
from labkit.errors import UsageError
from labkit.queue.threads import Pause, Spawn, Stop, Wakeup, thread
from labkit.retry import RetryPolicy, seconds_asked
from labkit.store.contract import error_text
from labkit.webhook import outbox
from labkit.webhook.outbox import DELIVERED, FAILED, PENDING, Delivery
from labkit.webhook.prune import Keep, prune
from labkit.webhook.send import Answer, Sender

Send = Callable[[str, str, bytes], Answer]  # (id, url, body) -> what the receiver said; raises when it said nothing
LEASE_SECONDS = 120.0  # longer than one attempt can last, with a slow lookup before it
POLL_SECONDS = 0.5
PRUNE_SECONDS = 600.0  # from one look for old deliveries to the next
STOP_SECONDS = 15.0  # that whoever stops it waits; an attempt lasts less
LONGEST_ASKED = 86_400.0  # seconds that a receiver can make us wait
KEEP = Keep()
POLICY = RetryPolicy(max_attempts=10, base=10.0, cap=3_600.0)
_log = logging.getLogger("labkit.webhook")


def _never() -> bool:
    return False


def start(deliverer: Deliverer, spawn: Spawn = thread) -> Stop:
    """Run it in a thread. What is returned ends it, and waits for the attempt under way, a while at most."""
    stopped, wakeup = threading.Event(), Wakeup()
    running = spawn("labkit webhooks", lambda: deliverer.run(stopped.is_set, wakeup))

    def stop() -> None:
        stopped.set()
        wakeup.wake()
        running.join(STOP_SECONDS)

    return stop


class Deliverer:
    """Sends the webhooks of `engine`. Without `now` all times in the table are the database's own.

    `policy` says how often and how far apart; its delays are drawn, by its own `rng` or else from the delivery itself. `keep` says what becomes of old ones.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock | None = None,
        send: Send | None = None,
        *,
        policy: RetryPolicy = POLICY,
        lease_seconds: float = LEASE_SECONDS,
        poll_seconds: float = POLL_SECONDS,
        keep: Keep = KEEP,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.engine, self.policy, self.lease_seconds = engine, policy, lease_seconds
        self.clock: Clock = clock or SystemClock()
        self._send: Send = send or Sender()
        self._poll_seconds, self._keep, self._pruned = poll_seconds, keep, -PRUNE_SECONDS
        self._now: Callable[[], datetime | None] = now or (lambda: None)
        self.delivered = self.failed = 0

    def run(self, stopped: Callable[[], bool], pause: Pause | None = None) -> None:
        """Work until `stopped()`; the attempt under way is finished first. An outage is logged, and nothing is lost by it."""
        while not stopped():
            try:
                attempts = self.run_once(stopped)
                self._prune()
            except Exception as error:  # subtle: whatever the driver raises, there must be a deliverer when the database is back
                _log.warning("cannot deliver webhooks now: %s", in_one_line(error))
                attempts = 0
            if not attempts and not stopped():
                (pause or self.clock.sleep)(self._poll_seconds)

    def run_once(self, stopped: Callable[[], bool] = _never) -> int:
        """Write what is missing and send all that is due now; how many attempts that took."""
        outbox.collect(self.engine, self._now())
        attempts = 0
        while not stopped() and (held := outbox.claim(self.engine, self.lease_seconds, self._now())) is not None:
            self._attempt(held)
            attempts += 1
        return attempts

    def _prune(self) -> None:
        """Now and then, and never before what is due was sent."""
        if (at := self.clock.monotonic()) - self._pruned >= PRUNE_SECONDS:
            self._pruned = at
            if gone := prune(self.engine, self._keep, self._now()):
                _log.info("removed %d old deliveries", gone)

    def _attempt(self, held: Delivery) -> None:
        try:
            answer = self._send(held.id, held.url, held.body)
        except UsageError as error:
            self._settle(held, FAILED, str(error))
        except Exception as error:  # subtle: not BaseException, a crash must leave the delivery leased
            self._again(held, error_text(error))
        else:
            # crash here: the receiver has it and we do not know; it gets the same id and the same bytes again
            if answer.received:
                self._settle(held, DELIVERED, None, answer.status)
            elif answer.final:
                self._settle(held, FAILED, str(answer), answer.status)
            else:
                self._again(held, str(answer), answer)

    def _again(self, held: Delivery, reason: str, answer: Answer | None = None) -> None:
        status, asked = (answer.status, answer.retry_after) if answer else (None, None)
        if held.attempt + 1 >= self.policy.max_attempts:
            self._settle(held, FAILED, reason, status)
            return
        floor = min(LONGEST_ASKED, seconds_asked(asked, self.clock.now()))
        rng = self.policy.rng or random.Random(f"labkit {held.id} {held.attempt}")  # so no two come back together
        wait = replace(self.policy, rng=rng).delay(held.attempt, floor)
        self._settle(held, PENDING, reason, status, wait)

    def _settle(self, held: Delivery, state: str, reason: str | None, status: int | None = None, wait: float = 0.0) -> None:
        mine = outbox.settle(self.engine, held, state, status=status, error=reason, wait=wait, now=self._now())
        if mine:
            self.delivered += state == DELIVERED
            self.failed += state == FAILED
        told = {"task": held.task_id, "delivery": held.id, "attempt": held.attempt + 1, "state": state}
        what = (reason or state) if mine else "another deliverer has it by now"
        _log.info("delivery %s of task %s, attempt %d: %s", held.id, held.task_id, held.attempt + 1, what, extra=told)

    def __repr__(self) -> str:
        return f"<Deliverer {shown(self.engine)} delivered={self.delivered} failed={self.failed}>"
