"""Jobs for the tests of the nursery: they run in children, and so load little."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.faults.nursery import Report


def echo(report: Report, **arguments: Any) -> None:
    print("this goes nowhere")
    report({"pid": os.getpid(), "parent": os.getppid(), "threads": threading.active_count(), **arguments})


def many(report: Report, *, times: int, size: int) -> None:
    for number in range(times):
        report({"number": number, "text": "x" * size})


def die(report: Report) -> None:
    report({"last": "words"})
    os.kill(os.getpid(), signal.SIGKILL)


def fail(report: Report) -> None:
    raise ValueError("a reason")


def leave(report: Report) -> None:
    sys.exit(3)


def wait_for_ever(report: Report, *, with_child: bool = False) -> None:
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) if with_child else None
    report({"pid": os.getpid(), "child": started.pid if started else None})
    threading.Event().wait()


def open_files(report: Report) -> None:
    report({"open": sorted(int(name) for name in os.listdir("/proc/self/fd"))})


def nursery_in_a_child(report: Report) -> None:
    """A caller of its own: it starts a job that never ends and waits to be killed."""
    from labkit.faults.nursery import Nursery

    nursery = Nursery()
    child = nursery.start("tests.faults.nursery_jobs:wait_for_ever", with_child=True)
    told = next(child.reports(30, 30))
    assert nursery._parent is not None
    report({"nursery": nursery._parent.pid, **told})
    threading.Event().wait()
