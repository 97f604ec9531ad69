"""Where an answer is that does not come back: its process is asked by a signal before it is ended, and writes down its lines.

What is said of it does not depend on the moment: a loop is named by its first line, and one that lies in another by that one's. Where an answer calls out
again and again, its process is stopped from inside, and the run has a note of the line. In a check it is the interpreter that writes, also where it is busy
inside one call of its own, and no answer gets hold of anything for that.

Not handled here: an answer that no longer listens to signals, and a system without them. Of these nothing is known but the case.
"""

from __future__ import annotations

import ast
import faulthandler
import os
import re
import signal
from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import Any

from labkit.checks import wire
from labkit.checks.cells import parse, place
from labkit.faults.child import Child
from labkit.faults.fault import Crash
from labkit.faults.nursery import Report
from labkit.faults.outcome import ANSWER, line_of_answer
from labkit.faults.process import Process
from labkit.faults.record import Record, renamed
from labkit.faults.runner import MOST_RESTARTS
from labkit.faults.scenario import Body, Scenario
from labkit.faults.trace import Line, Trace

ASK = getattr(signal, "SIGUSR1", None)
FILE = "whereabouts"  # in the folder of a job
MOST = 100_000  # bytes of it that are read
A_MOMENT = 1.0  # real seconds that a process has for its answer
AT = re.compile(rf'File "{ANSWER}[^"\n]*", line (\d{{1,6}})')
ROUND = "goes round and round"  # the note on where a process was that was stopped from inside
LOOPS = (ast.While, ast.For, ast.AsyncFor)
_open: list[Any] = []  # the file, which would be closed without it


def tell_when_asked(folder: Path) -> None:
    """In the child: from now on the interpreter writes down where it is, whenever somebody asks; then it ends, if nobody else listens to that signal."""
    if ASK is None:
        return
    _open[:] = [(folder / FILE).open("wb")]
    faulthandler.register(ASK, _open[0], all_threads=True, chain=True)


def ask(child: Child, folder: Path) -> tuple[list[int], dict[str, Any]]:
    """The lines of the answer at which a silent child is, the outermost call first, and what else it says to that; none and nothing where it does not say."""
    said: dict[str, Any] = {}
    if ASK is not None:
        with suppress(OSError, TimeoutError, ValueError, RecursionError):
            os.kill(child.pid, ASK)
            said = next(map(wire.word, child.reports(A_MOMENT, A_MOMENT)), {})
    return _lines(_read(folder / FILE)), said


def _read(file: Path) -> str:
    """What was written; an answer may have put anything else in its place."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        return os.read(descriptor, MOST).decode(errors="replace") if S_ISREG(os.fstat(descriptor).st_mode) else ""
    finally:
        os.close(descriptor)


def _lines(text: str) -> list[int]:
    """Those of the thread that was asked, or else of the first in which there are any."""
    threads = sorted(text.split("\n\n"), key=lambda one: not one.startswith("Current"))
    return next(filter(None, ([int(line) for line in AT.findall(one)][::-1] for one in threads)), [])


def in_words(source: str, lines: list[int]) -> str:
    """Where that is, for whoever wrote the source; "" where it is not known."""
    tree, known = parse(source), [line for line in lines if 1 <= line <= source.count("\n") + 1]
    loops = [node for node in ast.walk(tree) if isinstance(node, LOOPS)] if tree else []
    for line in known:
        around = [loop.lineno for loop in loops if loop.lineno <= line <= (loop.end_lineno or line)]
        if around:
            return f"in a loop ({place(source, min(around))})"
    return f"at one and the same place ({place(source, known[-1])})" if known else ""


class Watch:
    """Looks at a run while it goes on: its record so far, and the line of a process that never ends."""

    def __init__(self, source: str) -> None:
        self._source, self._records = source, deque[list[Record]](maxlen=MOST_RESTARTS + 1)

    def over(self, scenario: Scenario) -> Scenario:
        """The same scenario, looked at."""
        return replace(scenario, run=tuple(partial(self._play, body) for body in scenario.bodies))

    def _play(self, body: Body, process: Process) -> Any:
        gate = process.gate
        if gate.process == "p1":
            self._records.clear()
        if not any(gate.record is one for one in self._records):
            self._records.append(gate.record)
        try:
            return body(process)
        except Crash as died:
            line = line_of_answer(died.__traceback__)
            if gate.how == "endless" and line:
                gate.tell("note", ROUND, place(self._source, line))
            raise

    def so_far(self, token: str) -> Trace:
        """What has happened in the run that is under way; the last line says that it has no end."""
        lines = [*renamed(record for records in self._records for record in records)]
        return Trace(token, (*lines, Line("end", lines[-1].process, lines[-1].time, label="endless")) if lines else ())

    def tell(self, report: Report, token: str) -> None:
        """In the child, before `tell_when_asked`: whenever somebody asks, report the run so far."""
        if ASK is not None:
            signal.signal(ASK, lambda number, frame: report({"so far": self.so_far(token).to_jsonl()}))
