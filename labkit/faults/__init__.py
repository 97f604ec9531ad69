"""The simulator. Read in this order: fault, schedule, gate, sql_gate, process, model_answers, world, scenario, runner, sweep; then actor, baton,
interleave, search, kill, fidelity.

It attaches to labkit from outside, at the boundaries; nothing in labkit's library imports it.
"""

from labkit.faults.engines import interleave, kill, open_world, replay, run_once, search, sweep
from labkit.faults.fault import Crash, Fault
from labkit.faults.process import Process
from labkit.faults.report import Report
from labkit.faults.scenario import End, Scenario, at_most_once, every_process_ends, exactly_once
from labkit.faults.schedule import Injection, Schedule, Token
from labkit.faults.trace import Line, Trace

__all__ = [
    "Crash",
    "End",
    "Fault",
    "Injection",
    "Line",
    "Process",
    "Report",
    "Scenario",
    "Schedule",
    "Token",
    "Trace",
    "at_most_once",
    "every_process_ends",
    "exactly_once",
    "interleave",
    "kill",
    "open_world",
    "replay",
    "run_once",
    "search",
    "sweep",
]
