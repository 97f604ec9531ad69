"""Chapter 11, step 3: no retry, a retry of every error, a retry that pays twice, and 200 clients that come back in one instant.

`refused` writes a schedule in which the first calls are refused, so that one scenario shows every error. `stampede` lets clients that
failed together come back to a server that takes only so many a second, in virtual time.

Not handled here: the right retry (see `retry`) and the key that makes it harmless (see `execution`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from labkit import errors
from labkit.clock import Clock
from labkit.errors import RetriesExhausted
from labkit.faults import Process, Scenario, Trace, exactly_once, run_once
from labkit.faults.chart_table import Table, bad, good, table
from labkit.lessons.story import APP, effects, one_container
from labkit.retry import execute_with_retry

T = TypeVar("T")
CUSTOMER, ORDER = "alice", "order-7"
BUILD = 8 * 60.0  # seconds until the image is there


def retry_everything(fn: Callable[[], T], max_attempts: int, clock: Clock) -> T:
    """Step 3: 1, 2, 4, ... s between attempts, whatever went wrong. Breaks on an error that will never go away."""
    for attempt in range(max_attempts):
        try:
            return fn()
        except Exception as error:
            if attempt + 1 == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2.0**attempt)
    raise ValueError(f"max_attempts must be at least 1, not {max_attempts}")


def no_retry(process: Process) -> str:
    """Common error 2, the BAD listing: the first error ends it, and eight minutes of work with it."""
    process.clock.sleep(BUILD)
    return process.cloud.deploy_container(APP)


def retries_everything(process: Process) -> str:
    """Common error 2, the GOOD listing, with five attempts. Asks for a thing that is not there five times."""
    return retry_everything(lambda: process.cloud.deploy_container(APP), 5, process.clock)


def retries_transient(process: Process) -> str:
    """The same with errors told apart."""
    return execute_with_retry(lambda: process.cloud.deploy_container(APP), 5, process.clock)


def asks_once(process: Process) -> str:
    """The payment alone: whoever calls it sees its error."""
    return process.cloud.charge(CUSTOMER)


def pays_again(process: Process) -> str:
    """Integration point 2: a retry around whatever tool there is. Pays twice when the answer to the first payment is lost."""
    return execute_with_retry(lambda: process.cloud.charge(CUSTOMER), 3, process.clock)


def pays_under_a_key(process: Process) -> str:
    """The same with an idempotency key, made once, outside of the retry."""
    return execute_with_retry(lambda: process.cloud.charge(CUSTOMER, key=ORDER), 3, process.clock)


one_503 = Scenario("one_503", no_retry, [one_container])
every_error = Scenario("every_error", retries_everything)
told_apart = Scenario("told_apart", retries_transient)
unretried = Scenario("unretried", asks_once)
payment = Scenario("payment", pays_again, [exactly_once("charge")])
payment_with_key = Scenario("payment_with_key", pays_under_a_key, [exactly_once("charge")])


def refused(times: int, error: str = "") -> str:
    """A schedule in which the first `times` calls of the cloud are refused, with this error (default: a transient one)."""
    fault = f"error({error})" if error else "error"
    return ",".join(f"p1@cloud{number}.before+{fault}" for number in range(1, times + 1))


def calls(trace: Trace) -> int:
    """How often the cloud was asked."""
    return sum(line.kind == "cross" and line.boundary == "cloud" and line.side == "before" for line in trace.lines)


LOST = (
    ("refused at the door", "before+error"),
    ("the request is lost", "before+timeout"),
    ("the answer is lost", "after+timeout"),
)


def what_was_seen(scenario: Scenario = payment) -> Table:
    """One call lost in three ways: the error that the caller sees, what it says, and the payments once it was tried again."""
    rows = []
    for words, place in LOST:
        end = next(line for line in run_once(unretried, f"p1@cloud1.{place}").lines if line.kind == "end")
        error = end.text.removeprefix("raised ").partition(":")[0]
        says = "definite: nothing happened" if getattr(errors, error).definite else "indefinite: nobody knows"
        paid = len(effects(run_once(scenario, f"p1@cloud1.{place}")))
        rows.append((words, error, says, good(paid) if paid == 1 else bad(paid)))
    return table(("what went wrong", "the caller sees", "it says", "payments after a retry"), rows)


@dataclass(frozen=True)
class Stampede:
    """Who came back when. `returns` are the instants of all attempts but the first, in seconds."""

    returns: tuple[float, ...]
    served: int
    gave_up: int
    last: float  # when the last one was served

    def __repr__(self) -> str:
        return f"<Stampede {len(self.returns)} returns, {self.served} served, {self.gave_up} gave up>"


def stampede(
    wait: Callable[[int], float], *, clients: int = 200, attempts: int = 6, down: float = 5.0, per_second: int = 20
) -> Stampede:
    """All ask at second 0. The server is down for `down` seconds, then takes `per_second` requests in each second.

    `wait(n)` says how long a client waits after its failure number n, counted from 0.
    """
    coming = [(0.0, client, 0) for client in range(clients)]
    taken: dict[int, int] = {}
    returns: list[float] = []
    served: list[float] = []
    while coming:
        now, client, attempt = heapq.heappop(coming)
        returns += [now] if attempt else []
        room = per_second - taken.get(int(now), 0)
        if now >= down and room > 0:
            taken[int(now)] = per_second - room + 1
            served.append(now)
        elif attempt + 1 < attempts:
            heapq.heappush(coming, (now + wait(attempt), client, attempt + 1))
    return Stampede(tuple(returns), len(served), clients - len(served), max(served, default=0.0))
