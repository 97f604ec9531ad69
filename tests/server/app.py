"""A handler for the page's tests: a deployment in three steps, each begun when the test opens its gate, a file in the folder GATES."""

from __future__ import annotations

import os
from pathlib import Path

from labkit.clock import SystemClock
from labkit.queue import Job

TOOLS = ("create_namespace", "deploy_container", "configure_route")


def deploy(job: Job) -> str:
    """Tells each step; a task called "risky" asks a person before the last one."""
    for step, tool in enumerate(TOOLS, start=1):
        _wait_for(job, step)
        if step == len(TOOLS) and "risky" in job.user_input:
            job.ask("May configure_route run?")
        job.tell(step, "tool_call", f"{tool} by attempt {job.task.attempt}", total_step=len(TOOLS), tool=tool)
    _wait_for(job, len(TOOLS) + 1)
    return f"{job.user_input} is up"


def _wait_for(job: Job, gate: int) -> None:
    clock, opened = SystemClock(), Path(os.environ["GATES"]) / str(gate)
    while not opened.exists():
        job.check()
        clock.sleep(0.02)
