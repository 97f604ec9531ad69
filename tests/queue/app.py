"""Handlers for the tests that start real processes. Effects go to a ledger file named by LEDGER."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from labkit.clock import SystemClock
from labkit.cloud import FileLedger
from labkit.queue import Job


def mail(job: Job) -> str:
    """One effect under the task's key; the ledger shows it once, however often it is asked for."""
    from labkit.cloud import Cloud

    return Cloud(FileLedger(Path(os.environ["LEDGER"])), SystemClock()).send_mail(job.user_input, key=job.key)


def stuck(job: Job) -> str:
    """Says that it has begun, and goes on until somebody stops it."""
    job.tell(1, "thinking", "begun")
    clock = SystemClock()
    while True:
        clock.sleep(0.01)
        if job.user_input == "polite":
            job.check()


def slow(job: Job) -> str:
    """Says that it has begun, and finishes when it hears that its worker stops."""
    job.tell(1, "thinking", "begun")
    clock = SystemClock()
    while not job.stopping:
        clock.sleep(0.01)
    return "finished"


async def later(job: Job) -> str:
    """No handler: nobody would await it."""
    return job.user_input


def bad(job: Job) -> str:
    """Fails, and says so in two lines."""
    raise ValueError(f"no way\nfor {job.key}")


def no_job() -> str:
    """No handler: it takes nothing."""
    return "done"


def two_jobs(job: Job, other: Job) -> str:
    """No handler: nobody would give it a second one."""
    return job.user_input + other.user_input


def several(job: Job) -> Iterator[str]:
    """No handler: to call it does nothing yet."""
    yield job.user_input


ENDS = ("completed", "error")
handlers = {"bad": bad, "polite": stuck, "deaf": stuck, "slow": slow, "*": mail}
